"""Results that nothing takes: no call, no pass, no name."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradviz.dependence.stores import is_unbound
from gradviz.program import Call, History, RawSite


def dropped(history: History) -> list[Call]:
    """Return the calls whose one number has a graph and goes nowhere, in order.

    Printing leaves no trace in the log: ask :mod:`gradviz.dependence.stores` too. What
    is computed from losses that passes began at alone is no loss of its own.
    """
    roots = {root.tensor for each in history.backwards for root in each.roots}
    return [
        call
        for call in history.calls
        if call.within is None
        and _is_new(call)
        and (made := call.outputs[0]).requires_grad
        and not (made.is_leaf or made.tensor in roots)
        and prod(made.shape) == 1
        and not history.uses(made.tensor, call.index)
        and any(v.requires_grad and v.tensor not in roots for v in call.inputs)
    ]


def unbound(history: History) -> Iterator[Call]:
    """Yield the calls that are a statement of their own, and made a tensor by it.

    The result of such a call is gone with the statement: a call that changes its
    operand in place was meant, or an assignment. One for each line.
    """
    whole: dict[RawSite, bool] = {}  # whether nothing takes what a statement gives
    for call in history.calls:
        site = call.site
        if call.within is not None or site is None or not _is_new(call):
            continue
        if site not in whole:
            whole[site] = is_unbound(history.places, site)
        if whole[site] and not history.uses(call.outputs[0].tensor, call.index):
            whole[site] = False  # it is told
            yield call


def _is_new(call: Call) -> bool:
    """Tell whether a call gave one tensor that is none of its operands."""
    in_place = call.op.endswith("_") and not call.op.endswith("__")
    if len(call.outputs) != 1 or call.writes or in_place or call.error is not None:
        return False
    return all(each.tensor != call.outputs[0].tensor for each in call.inputs)
