"""Which parts of a tensor were filled in: rows of several lengths leave padding."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import Any, TypeAlias

from gradviz.dependence.axis_facts import Axes, Padding
from gradviz.dependence.op_families import plain
from gradviz.program import Call, Value

Box: TypeAlias = tuple[range, ...]
"""A part of a tensor: a range for each dimension."""

_MOST_BOXES = 64  # of one tensor


class Filling:
    """Follows the writes to parts of tensors."""

    def __init__(self, axes: Axes) -> None:
        self._axes = axes
        self._boxes: dict[int, list[Box]] = defaultdict(list)
        self._parts: dict[int, tuple[Value, Box]] = {}  # view -> part of which tensor

    def note_part(self, call: Call, base: Value, index: Any) -> None:
        """Remember which part of a tensor a view is, for those that write to it."""
        if not call.outputs[0].is_view and call.outputs[0].storage != base.storage:
            return
        whole = self._parts.get(base.tensor)
        box = _box(base.shape, index)
        if box is None:
            return
        if whole is None:
            self._parts[call.outputs[0].tensor] = base, box
        elif (both := _within(whole[1], box)) is not None:
            self._parts[call.outputs[0].tensor] = whole[0], both

    def learn(self, call: Call, name: str) -> None:
        """Learn which part of a tensor a call filled in."""
        if name == "setitem" and len(call.arguments) > 2 and call.inputs:
            if not isinstance(call.arguments[2], Value):
                return  # painted with one number: no row of a sequence
            base = call.inputs[0]
            box = _box(base.shape, call.arguments[1])
            if box is not None:
                self._filled(call, base, box)
        elif name == "copy" and call.inputs and call.inputs[0].tensor in self._parts:
            base, box = self._parts[call.inputs[0].tensor]
            self._filled(call, base, box)

    def _filled(self, call: Call, base: Value, box: Box) -> None:
        made = any(each.requires_grad for each in call.inputs)
        boxes = self._boxes[base.tensor]
        if len(boxes) > _MOST_BOXES:
            return
        if box not in boxes:  # a state is written anew in each turn of a loop
            boxes.append(box)
        for place, dim in enumerate(self._axes.of(base)):
            if len(dim) == 1 and len(dim[0].axes) == 1:
                axis = dim[0].axes[0]
                is_right = _is_right(boxes, place, base.shape, made)
                if is_right is not None:
                    fill = _fill(axis.call)
                    self._axes.padded[axis] = Padding(call, is_right, fill, made)
                else:
                    self._axes.padded.pop(axis, None)


def _box(shape: tuple[int, ...], index: Any) -> Box | None:
    """Return which part of a tensor plain numbers and slices stand for."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if len(parts) > len(shape):
        return None
    box: list[range] = []
    for part, size in zip(parts, shape, strict=False):
        if type(part) is int:
            box.append(range(part % size, part % size + 1) if size else range(0))
        elif isinstance(part, slice):
            ends = part.start, part.stop, part.step
            if not all(each is None or type(each) is int for each in ends):
                return None
            box.append(range(*part.indices(size)))
        else:
            return None
    return (*box, *[range(size) for size in shape[len(parts) :]])


def _within(whole: Box, box: Box) -> Box | None:
    """Return a part of a part, where picked dimensions are gone."""
    left = iter(box)
    made: list[range] = []
    for each in whole:
        if len(each) == 1:
            made.append(each)
            continue
        inner = next(left, None)
        if inner is None or len(each) < len(inner):
            return None
        made.append(range(each.start + inner.start, each.start + inner.stop))
    return tuple(made)


def _is_right(
    boxes: list[Box], place: int, shape: tuple[int, ...], made: bool
) -> bool | None:
    """Tell whether what was not filled in lies behind the rows; None: it is no padding.

    Rows of several lengths begin, or end, at one place. What a layer made is filled in
    by steps instead, of which the later ones are shorter.
    """
    if made:
        begin = _covered(boxes, place, 0)
        end = _covered(boxes, place, shape[place] - 1)
        is_some = begin != end and min(begin, end) > 0
        return begin > end if is_some else None
    rows = {tuple([r for i, r in enumerate(box) if i != place]) for box in boxes}
    lengths = {len(box[place]) for box in boxes}
    if (
        len(rows) < 2
        or len(lengths) < 2
        or not all(_is_row(e, place, shape) for e in boxes)
    ):
        return None
    if all(box[place].start == 0 for box in boxes):
        return True
    return False if all(box[place].stop == shape[place] for box in boxes) else None


def _is_row(box: Box, place: int, shape: tuple[int, ...]) -> bool:
    """Tell whether a part is one row, with all that belongs to its elements."""
    return all(
        len(each) in (1, size) or i == place
        for i, (each, size) in enumerate(zip(box, shape, strict=True))
    )


def _covered(boxes: list[Box], place: int, number: int) -> int:
    """Return how many elements were filled in at one place of a dimension."""
    return sum(
        prod([len(each) for i, each in enumerate(box) if i != place])
        for box in boxes
        if number in box[place]
    )


def _fill(call: Call | None) -> float | None:
    """Return the number that a tensor was made of."""
    if call is None:
        return None
    if plain(call.op) in ("zeros", "zeros_like", "new_zeros"):
        return 0.0
    if plain(call.op) in ("full", "full_like", "new_full"):
        given = [e for e in call.arguments[1:] if isinstance(e, int | float)]
        return float(given[-1]) if given else None
    return None
