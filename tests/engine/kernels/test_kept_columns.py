"""Columns kept between forward and backward: found again, bounded, and never stale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape.ops._kernels import im2col_cache as kept
from gradtape.ops._kernels.sliding_windows import Window

from ..oracle import assert_same


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    def forget() -> None:
        for key in list(kept._kept.known):
            kept._kept.drop(key)

    forget()
    yield
    forget()


def convolve(t: Any, x: Any, groups: int = 1) -> tuple[Any, Any]:
    channels = x.shape[1] // groups
    weight = (t.arange(36.0 * channels) % 5 - 2).reshape(4, channels, 3, 3)
    weight.requires_grad_()
    return t.nn.functional.conv2d(x, weight, padding=1, groups=groups), weight


def images(t: Any) -> Any:
    x = (t.arange(120.0) % 3 - 1).reshape(2, 2, 6, 5)  # whole numbers: no rounding
    return x.clone().requires_grad_()


@pytest.mark.parametrize("groups", [1, 2])
def test_backward_twice(groups: int) -> None:
    def program(t: Any) -> Any:
        x = images(t)
        found, weight = convolve(t, x, groups)
        (found**2).sum().backward(retain_graph=True)
        (found * 3).sum().backward()
        return [x.grad, weight.grad]

    assert_same(program)


def test_values_changed_behind_autograds_back() -> None:
    def program(t: Any) -> Any:
        x = images(t)
        found, weight = convolve(t, x)
        x.data.neg_()
        (found**2).sum().backward()
        return [x.grad, weight.grad]

    assert_same(program)


def test_backward_takes_what_forward_made(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = convolve(gradtape, images(gradtape))
    assert len(kept._kept.known) == 1

    def refuse(*_: Any, **_named: Any) -> Any:
        raise AssertionError("laid out again")

    monkeypatch.setattr(kept, "columns", refuse)
    found.sum().backward()
    assert (kept._kept.known, kept._kept.nbytes) == ({}, 0)


def test_nothing_is_kept_without_gradients() -> None:
    with gradtape.no_grad():
        convolve(gradtape, images(gradtape))
    assert kept._kept.known == {}


def test_no_more_than_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window((3, 3), (1, 1), (0, 0), (1, 1))
    arrays = [np.full((1, 1, 4, 4), i, np.float32) for i in range(5)]
    monkeypatch.setattr(kept, "ROOM", 2 * 4 * 9 * 4)  # two of them
    for array in arrays:
        kept.make(np, array, window, (2, 2))
    assert [e.values[0, 0, 0, 0] for e in kept._kept.known.values()] == [
        array.view(np.int32)[0, 0, 0, 0] for array in arrays[-2:]
    ]
    monkeypatch.setattr(kept, "ROOM", 1)
    kept.make(np, arrays[0], window, (2, 2))
    assert kept._kept.known == {}
