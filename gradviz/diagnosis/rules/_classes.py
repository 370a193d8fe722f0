"""Which layers make class scores: what a loss over classes shows."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.dependence.axes import Dim, axes_in
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.learning import once
from gradviz.dependence.op_families import CLASS_LOSSES, plain
from gradviz.program import Call, History


@once
def of_classes(history: History) -> dict[int, Call]:
    """Return the weights of layers whose results a loss takes for classes, with it."""
    axes = history.once(axes_of)
    found: dict[int, Call] = {}
    for call in history.calls:
        if plain(call.op) in CLASS_LOSSES and call.inputs and call.error is None:
            scores = axes.of(call.inputs[0])
            for dim in scores[1:2] or scores:
                for key in weights_of(dim):
                    found.setdefault(key, call)
    return found


def weights_of(dim: Dim) -> set[int]:
    """Return the weights of the layers that made a dimension.

    Of an op that nothing is known of, no dimension is one of features.
    """
    roots = (axis.root for axis in axes_in(dim))
    made: Iterable[Call | None] = (each.call for each in roots if each.value is None)
    return {
        each.tensor
        for call in made
        if call is not None
        for each in call.inputs
        if each.is_parameter and len(each.shape) > 1
    }
