"""Constants: tensors that no recorded op made, as initializers or as nodes.

A tensor that is the same in all runs is an initializer. One whose shape follows a
dynamic axis must be a pattern that a graph can make at any length: one value repeated,
or consecutive numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._graph import Graph, onnx_type
from ._table import CannotTranslateError
from ._varying import Length, Varying, length_of

LONGER = (
    "a tensor of shape {shape} was made from the length of a dynamic axis, and not by "
    "ops that are recorded. Register the longest one as a buffer and slice it, or "
    "export without that axis"
)
RANDOM = (
    "a tensor of shape {shape} has other values each time the model runs: it is random "
    "or was computed from the inputs outside the recorded ops (item(), numpy()). "
    "Pass it in as an input, or compute it with ops on tensors"
)


def constant(graph: Graph, arrays: Sequence[Any], dtype: Any, name: str) -> str:
    """Return the name of a tensor that held these arrays, one per run."""
    first = arrays[0]
    if len(arrays) > 1 and not same(first, arrays[1]):
        raise CannotTranslateError(RANDOM.format(shape=list(first.shape)))
    if all(same(first, a) for a in arrays):
        return graph.constant(first, name)
    shape = tuple(
        length_of(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True)
    )
    found = None
    if not any(isinstance(n, Varying) for n in shape):
        found = _lengths(graph, arrays, shape, dtype)
    else:
        found = _repeated(graph, arrays, shape) or _range(graph, arrays, shape, dtype)
    if found is None:
        raise CannotTranslateError(LONGER.format(shape=list(first.shape)))
    return found


def same(one: Any, other: Any) -> bool:
    """Say whether two arrays hold the same, NaN included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return one.tobytes() == other.tobytes()


def _lengths(
    graph: Graph, arrays: Sequence[Any], shape: Sequence[Length], dtype: Any
) -> str | None:
    """Return a few numbers, some of which are lengths."""
    if arrays[0].size > 8 or any((a != np.floor(a)).any() for a in arrays):
        return None
    places = zip(*(a.flat for a in arrays), strict=True)
    numbers = [length_of([int(v) for v in values]) for values in places]
    flat = graph.node("Cast", graph.ints(numbers), to=onnx_type(dtype))
    return graph.reshape(flat, [len(numbers)], shape)


def _repeated(
    graph: Graph, arrays: Sequence[Any], shape: Sequence[Length]
) -> str | None:
    """Return slices of one kind, repeated along the varying dimensions."""
    open_dims = [d for d, n in enumerate(shape) if isinstance(n, Varying)]
    cores: list[Any] = []
    for array in arrays:
        index = tuple(
            slice(0, 1) if d in open_dims else slice(None) for d in range(array.ndim)
        )
        core = array[index]
        if core.size == 0 and array.size == 0:
            return None
        if not same(np.ascontiguousarray(np.broadcast_to(core, array.shape)), array):
            return None
        cores.append(core)
    if not all(same(cores[0], core) for core in cores):
        return None
    return graph.node("Expand", graph.constant(cores[0]), graph.ints(shape))


def _range(
    graph: Graph, arrays: Sequence[Any], shape: Sequence[Length], dtype: Any
) -> str | None:
    """Return consecutive numbers, as torch.arange makes them."""
    if len(shape) != 1 or min(a.size for a in arrays) < 1:
        return None
    longest = max(arrays, key=len)
    start = longest[0].item()
    step = (longest[1] - longest[0]).item() if len(longest) > 1 else 1
    for array in arrays:
        if not np.array_equal(array, start + step * np.arange(len(array))):
            return None
    count = graph.node("Squeeze", graph.length(shape[0]), graph.ints([0]))
    zero, one = (graph.constant(np.array(n, np.int64)) for n in (0, 1))
    numbers = graph.node("Range", zero, count, one)
    found = graph.node("Cast", numbers, to=onnx_type(dtype))
    if step != 1:
        found = graph.node("Mul", found, graph.number(step, dtype))
    return graph.node("Add", found, graph.number(start, dtype)) if start else found
