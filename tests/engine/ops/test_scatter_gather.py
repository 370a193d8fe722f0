"""Parting among devices and joining again; with host memory only, all on "cpu"."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import pytest

import gradtape as gt
from gradtape.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs

CPUS = [gt.device("cpu")] * 2


class Pair(NamedTuple):
    x: gt.Tensor
    y: None


def _plain(value: Any) -> Any:
    if isinstance(value, gt.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def test_containers_are_parted_and_joined() -> None:
    x = gt.arange(6.0).reshape(3, 2)
    given = OrderedDict(a=[x, x + 1], b=Pair(x, None), c=(1, {"d": x}))
    parts = scatter(given, CPUS)
    assert [type(part) for part in parts] == [OrderedDict] * 2
    assert type(parts[0]["b"]) is Pair
    assert _plain(parts[0]["a"][0]) == [[0.0, 1.0], [2.0, 3.0]]
    assert _plain(parts[1]["c"]) == [1, {"d": [[4.0, 5.0]]}]
    parts = [{"a": part["a"], "b": part["b"]} for part in parts]
    whole = gather(parts, "cpu")
    assert type(whole["b"]) is Pair
    assert _plain(whole) == {"a": _plain(given["a"]), "b": [x.tolist(), None]}


def test_fewer_chunks_than_devices() -> None:
    positional, named = scatter_kwargs((gt.ones(1),), {"n": 3}, CPUS)
    assert _plain(positional) == [[[1.0]], []]
    assert named == ({"n": 3}, {"n": 3})
    assert scatter_kwargs((), None, CPUS) == ((), ())


def test_scalars_become_a_vector_and_gradients_flow() -> None:
    x = gt.tensor([1.0, 2.0], requires_grad=True)
    halves = scatter(x, CPUS)
    total = gather([each.sum() for each in halves], "cpu")
    assert total.tolist() == [1.0, 2.0]
    total.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="same number of keys"):
        gather([{"a": x}, {}], "cpu")
