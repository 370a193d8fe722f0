"""Which dimensions hold samples, as far as what was computed says so."""

from __future__ import annotations

from gradviz.dependence.axes import Axis, Dims, axes_in
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.learning import once
from gradviz.dependence.op_families import LAYERS, RECURRENT, plain
from gradviz.program import History, Value

_LAYERS = LAYERS | RECURRENT | {"embedding"}


@once
def fed(history: History) -> set[Axis]:
    """Return the axes that came in as the first of what a layer with weights takes."""
    axes, found = history.once(axes_of), set[Axis]()
    for call in history.calls:
        if plain(call.op) not in _LAYERS or call.error is not None:
            continue
        taken = [each for each in call.inputs if not each.is_parameter]
        if len(taken) < len(call.inputs) and taken:
            dims = axes.dims.get(taken[0].tensor, ())
            found.update([each.root for each in _first(dims)])
    return found


def holds_samples(history: History, value: Value, place: int = 0) -> bool:
    """Tell whether a dimension of a tensor holds what a layer took one by one.

    Samples do so, and so do the steps of a sequence.
    """
    dims = history.once(axes_of).dims.get(value.tensor, ())
    found = axes_in(dims[place]) if place < len(dims) else []
    return any(
        each.root in fed(history) or any(one.how == "beside" for one in each.behind())
        for each in found
    )


def _first(dims: Dims) -> list[Axis]:
    return axes_in(dims[0]) if dims else []
