"""Tells the calls that no gradient concerns: those that prepare data, above all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradviz._capture.adapters.pytorch.graph.tensor_table import NEEDS
from gradviz.program.events import Call, Event
from gradviz.program.values import Node, Value


def is_noted_aside(noted: Any) -> bool:
    """Say what :func:`is_aside` says of an event that may still be a note."""
    if type(noted) is not tuple:
        return is_aside(noted)
    if noted[0] != "call":
        return False
    _, _, header, outputs, nodes, *_ = noted
    needs = [glance[NEEDS] for glance in (*outputs, *header[5])]
    return not (nodes or any(needs) or header[0].endswith((".get", ".set")))


def is_aside(event: Event) -> bool:
    """Whether an event is a call that neither makes nodes nor meets a gradient."""
    if type(event) is not Call or event.nodes or event.error:
        return False
    for values in (event.outputs, event.inputs):
        for value in values:
            if value.requires_grad:
                return False
    return not event.op.endswith((".get", ".set"))


def without_asides(
    events: Iterable[Event], nodes: Iterable[Node]
) -> tuple[list[Event], int]:
    """Leave out calls aside whose results no node uses; say how many there were.

    A data loader can make a hundred thousand of them where a step has fifty.
    """
    events = list(events)
    used = {0}
    for node in nodes:
        used.update(value.storage for value in node.outputs)
        used.update(saved.value.storage for saved in node.saved)
    for event in events:
        if type(event) is Call and not is_aside(event):
            used.update(value.storage for value in event.inputs)
    used.discard(0)
    kept = [event for event in events if not is_aside(event) or _meets(event, used)]
    return kept, len(events) - len(kept)


def _meets(event: Event, used: set[int]) -> bool:
    values: tuple[Value, ...] = event.outputs if isinstance(event, Call) else ()
    return any(value.storage in used for value in values)
