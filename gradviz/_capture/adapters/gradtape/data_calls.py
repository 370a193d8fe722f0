"""Tells the calls without a graph while they are notes still: evaluations, data."""

from __future__ import annotations

from typing import Any

from gradviz.program.events import Call

_OUTPUT, _COUNT, _NODE = 11, 15, 11  # places in a brief note, a full one, a glance


def is_noted_aside(noted: Any) -> bool:
    """Whether an event is a call that wrote nothing, its results without a graph."""
    if type(noted) is not tuple:
        found = type(noted) is Call and not (noted.nodes or noted.writes or noted.error)
        return found and all(value.node is None for value in noted.outputs)
    if noted[0] == "brief":
        return noted[_OUTPUT][_NODE] is None
    if noted[0] != "op" or noted[13]:
        return False
    outputs = noted[_COUNT + 1 + noted[_COUNT] :]
    return all(glance[_NODE] is None for glance in outputs)
