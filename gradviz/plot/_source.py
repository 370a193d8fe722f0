"""What a figure is about: the flow behind whatever the user gave, and its labels."""

from __future__ import annotations

import os
from typing import Any

from gradviz.errors import GradvizError
from gradviz.flow.table import Flow, flow_of
from gradviz.snapshots import as_snapshot, load
from gradviz.text.words import clean

LONGEST = 40  # characters of a label

NOTHING = (
    "There are no gradients to draw: no backward pass was recorded, or no parameter "
    "got a gradient. Run backward() inside `gradviz.record()`, or train with "
    "`gradviz.watch(model, optimizer)`."
)


def flow_behind(x: Any, rank: int | None) -> tuple[Flow, str]:
    """Return the flow of what the user gave, and its title; raise GradvizError if none.

    Layers that never had a gradient are left out.
    """
    snapshot = load(x) if isinstance(x, str | os.PathLike) else as_snapshot(x)
    flow = flow_of(snapshot, rank)
    if rank is not None and rank not in flow.ranks:
        known = ", ".join(map(str, flow.ranks)) or "none: one process was recorded"
        raise GradvizError(f"there is no rank {rank}; recorded are {known}")
    kept = [
        layer
        for layer, row in enumerate(flow.points)
        if any(
            point is not None and (point.norm is not None or point.nans or point.infs)
            for point in row
        )
    ]
    if not kept:
        raise GradvizError(NOTHING)
    flow = Flow(
        tuple(flow.layers[layer] for layer in kept),
        flow.steps,
        tuple(flow.points[layer] for layer in kept),
        flow.statistics,
        flow.ranks,
    )
    title = clean(snapshot.title, 80)
    if len(flow.ranks) > 1:
        shown = flow.ranks[0] if rank is None else rank
        title = f"{title}, rank {shown}".lstrip(", ")
    return flow, title


def labels(flow: Flow) -> list[str]:
    """Return what to call each layer: short, different from each other, harmless."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for layer in flow.layers:
        text = shortened(layer.name) or "?"
        seen[text] = seen.get(text, 0) + 1
        found.append(escaped(text if seen[text] == 1 else f"{text} ({seen[text]})"))
    return found


def shortened(name: str) -> str:
    """Cut a long path in its middle: its first and its last names say most.

    >>> shortened("a" * 30 + ".layers.3." + "b" * 30)
    'aaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbbbbbbbbb'
    """
    text = clean(name)
    if len(text) <= LONGEST:
        return text
    front = LONGEST // 3
    return f"{text[:front]}…{text[front + 1 - LONGEST :]}"


def escaped(text: str) -> str:
    """Make a text harmless where plotly understands HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def heading(what: str, title: str) -> str:
    """Return the title of a figure."""
    return f"{what} · {escaped(title)}" if title else what
