"""Which parts of a layer's result are read, and which features nothing takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradviz.dependence.op_families import LAYERS, plain
from gradviz.program import Call, History, Value

_LAYERS = LAYERS - {"convolution"}  # which does not say how many places a result has
_MOST = 200_000  # elements of a result whose parts are told apart
_VIEWS = 40  # views of one result that are followed


@dataclass(frozen=True, slots=True)
class Part:
    """A view of a layer's result, and the call that took it out of a larger one."""

    taken: Call
    value: Value
    features: frozenset[int]  # of the layer, by number


def parts_of(history: History, layer: Call) -> list[Part]:
    """Return the smallest views of a layer's result that something computes with.

    Empty where the layer's features cannot be told apart in memory.
    """
    whole = layer.outputs[0] if layer.outputs else None
    if whole is None or plain(layer.op) not in _LAYERS or not _is_plain(whole):
        return []
    found, waiting = list[Part](), [(layer, whole)]
    for taken, value in waiting:
        for use in history.uses(value.tensor, taken.index):
            views = [each for each in use.outputs if each.storage == whole.storage]
            if views and len(waiting) < _VIEWS:
                smaller = any(prod(e.shape) < prod(value.shape) for e in views)
                waiting += [(use if smaller else taken, each) for each in views]
            else:
                features = frozenset(_features(layer, whole, value))
                found.append(Part(taken, value, features))
    return found


def features_of(layer: Call) -> int:
    """Return how many features a layer gives."""
    return layer.outputs[0].shape[_axis(layer)]


def _axis(layer: Call) -> int:
    shape = layer.outputs[0].shape
    spatial = int(plain(layer.op)[4]) if plain(layer.op).startswith("conv") else 0
    return len(shape) - 1 - spatial


def _is_plain(whole: Value) -> bool:
    """Tell whether a result fills its memory in order, and is small enough."""
    expected = 1
    for size, stride in zip(whole.shape[::-1], whole.strides[::-1], strict=False):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return whole.offset == 0 and whole.requires_grad and 0 < expected <= _MOST


def _features(layer: Call, whole: Value, view: Value) -> Iterator[int]:
    """Yield the features that the elements of a view belong to."""
    axis = _axis(layer)
    inner, count = prod(whole.shape[axis + 1 :]), whole.shape[axis]
    places = {view.offset}
    for size, stride in zip(view.shape, view.strides, strict=True):
        if stride:
            places = {at + i * stride for at in places for i in range(size)}
    for at in places:
        yield at // inner % count
