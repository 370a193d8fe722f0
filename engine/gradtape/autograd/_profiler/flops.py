"""How many floating-point operations an op needs, by the shapes of its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._profiling.event import Described

Shapes = list[list[int]]


def flops_of(name: str, inputs: Sequence[Any]) -> int:
    """Return PyTorch's estimate for the ops it has one for, else 0.

    Products of matrices count two operations per term, sums and products of elements
    one per element of the first operand.
    """
    count = _COUNTS.get(name)
    shapes = [each.shape if isinstance(each, Described) else [] for each in inputs]
    if count is None:
        return 0
    try:
        return count(shapes, inputs)
    except (IndexError, ValueError):
        return 0  # an op called with operands that the estimate does not know


def _matrices(a: list[int], b: list[int]) -> int:
    return 2 * math.prod(a) * b[-1]


def _elements(shapes: Shapes, inputs: Sequence[Any]) -> int:
    return math.prod(shapes[0]) if isinstance(inputs[0], Described) else 0


def _convolution(shapes: Shapes, inputs: Sequence[Any]) -> int:
    image, weight, *_ = shapes
    stride, padding, dilation, groups = (*inputs[3:], *(1, 0, 1, 1)[len(inputs) - 3 :])
    sizes: list[int] = []
    for axis, (size, kernel) in enumerate(zip(image[-2:], weight[-2:], strict=True)):
        step, pad, spread = (_along(v, axis) for v in (stride, padding, dilation))
        sizes.append((size + 2 * pad - spread * (kernel - 1) - 1) // step + 1)
    batch = image[0] if len(image) == 4 else 1
    terms = math.prod(weight[1:]) if groups else 0
    return 2 * batch * math.prod(sizes) * weight[0] * terms


def _along(value: Any, axis: int) -> int:
    return int(value[min(axis, len(value) - 1)] if isinstance(value, list) else value)


_COUNTS: dict[str, Callable[[Shapes, Sequence[Any]], int]] = {
    "aten::add": _elements,
    "aten::mul": _elements,
    "aten::mm": lambda shapes, _: _matrices(shapes[0], shapes[1]),
    "aten::bmm": lambda shapes, _: _matrices(shapes[0], shapes[1]),
    "aten::addmm": lambda shapes, _: _matrices(shapes[1], shapes[2]),
    "aten::baddbmm": lambda shapes, _: _matrices(shapes[1], shapes[2]),
    "aten::conv2d": _convolution,
}
