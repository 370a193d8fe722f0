"""What a program leaves behind under PyTorch, with a recording and without one."""

from __future__ import annotations

import gc
import importlib
import random
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.rules.harness import Case, executed


def _torch() -> Any:
    return importlib.import_module("torch")  # gradtape is tested without it too


class Mark:
    """Lives as long as the node that it is put on."""


@dataclass
class Left:
    """What a program left behind: bits of its tensors, and who outlived it."""

    output: str
    error: str
    values: dict[str, Any]
    alive: set[str]


def tensors_in(variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a program with their names, those of modules too."""
    for name, value in variables.items():
        if isinstance(value, _torch().Tensor):
            yield name, value
        elif isinstance(value, _torch().nn.Module):
            members = [*value.named_parameters(), *value.named_buffers()]
            yield from ((f"{name}.{path}", tensor) for path, tensor in members)
        elif isinstance(value, list | tuple):
            yield from tensors_in({f"{name}[{at}]": v for at, v in enumerate(value)})


def bits_of(tensor: Any) -> Any:
    """Return a copy of the elements; None for a tensor that cannot be read."""
    try:
        return tensor.detach().clone()
    except RuntimeError:
        return None


def left_by(case: Case, recorder: Any) -> Left:
    """Run a program, let go of it, and see what is still there."""
    watched: list[tuple[str, weakref.ref[Any]]] = []
    values: dict[str, Any] = {}
    np.random.seed(0)
    random.seed(0)
    with executed(case, recorder) as ran:
        for name, tensor in tensors_in(ran.variables):
            values[name] = bits_of(tensor)
            watched.append((name, weakref.ref(tensor)))
            node, gradient = held_by(tensor)
            values[f"{name}.grad"] = None if gradient is None else bits_of(gradient)
            if node is not None:
                node.metadata["mark"] = mark = Mark()
                watched.append((f"{name}.grad_fn", weakref.ref(mark)))
                del mark
            del tensor, node, gradient
        ran.variables.clear()
    if any(ref() is not None for _, ref in watched):
        gc.collect()
        gc.freeze()  # the next time only what was made since is walked
    return Left(
        ran.output,
        ran.error,
        values,
        {name for name, ref in watched if ref() is not None},
    )


def held_by(tensor: Any) -> tuple[Any, Any]:
    """Return the node and the gradient of a tensor, where it has them."""
    try:
        if tensor.is_leaf:
            return None, tensor.grad
        return (None if tensor._is_view() else tensor.grad_fn), None
    except RuntimeError:  # a view that is no longer valid
        return None, None


def same(one: Any, other: Any) -> bool:
    """Tell whether two tensors are equal to the last bit, NaN included."""
    if one is None or other is None:
        return one is other
    if one.is_meta or other.is_meta:
        return one.shape == other.shape
    if one.layout is not _torch().strided:
        return _torch().equal(one.to_dense(), other.to_dense())
    kind = one.dtype == other.dtype and one.shape == other.shape
    return kind and _torch().allclose(one, other, rtol=0, atol=0, equal_nan=True)


def differences(plain: Left, watched: Left) -> list[str]:
    """Say what a recording changed of a program, or kept alive."""
    wrong = list[str]()
    if (plain.output, plain.error) != (watched.output, watched.error):
        wrong.append(f"{plain.error!r} became {watched.error!r}")
    if plain.values.keys() != watched.values.keys():
        wrong.append("it has other variables")
    wrong += [
        f"{name} differs"
        for name, value in plain.values.items()
        if not same(value, watched.values.get(name))
    ]
    kept = watched.alive - plain.alive
    return wrong + ([f"{', '.join(sorted(kept))} stayed alive"] if kept else [])
