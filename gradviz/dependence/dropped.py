"""Results with a graph that nothing takes: no call, and no pass."""

from __future__ import annotations

from math import prod

from gradviz.program import Call, History


def dropped(history: History) -> list[Call]:
    """Return the calls whose one number has a graph and goes nowhere, in order.

    Printing leaves no trace in the log: ask :mod:`gradviz.dependence.stores` too.
    """
    roots = {root.tensor for each in history.backwards for root in each.roots}
    return [
        call
        for call in history.calls
        if len(call.outputs) == 1
        and call.within is None
        and (made := call.outputs[0]).requires_grad
        and not (made.is_leaf or call.writes or made.tensor in roots)
        and prod(made.shape) == 1
        and not history.uses(made.tensor, call.index)
    ]
