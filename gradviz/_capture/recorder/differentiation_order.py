"""The order of differentiation: which backward pass with create_graph made a node.

A pass over nodes of order n makes nodes of order n + 1. gradtape's log names each op of
a pass; PyTorch's does not, so that there the sequence numbers decide: what was made
between the last op before a pass and the first one after it was made by the pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gradviz._capture.recorder.raw import RawEvent, RawNode, reached


@dataclass(slots=True, eq=False)
class _Pass:
    """One backward pass: where it began, and what is known to be made by it."""

    root: RawNode
    after: int  # the largest sequence number before it
    next: RawNode | None = None  # of the first op after it; None: nothing came after
    made: list[RawNode] = field(default_factory=list[RawNode])


def orders(nodes: list[RawNode], events: Iterable[RawEvent]) -> dict[int, int]:
    """Return the order of the nodes that a pass made, by ``id``; others have none."""
    passes = _passes(events)
    if not passes:
        return {}
    _add_unlogged(nodes, passes)
    found: dict[int, int] = {}
    for each in passes:
        if each.made:
            order = 1 + _largest(each.root, found)
            found.update((id(raw), order) for raw in each.made)
    return found


def _passes(events: Iterable[RawEvent]) -> list[_Pass]:
    passes: list[_Pass] = []
    running: list[_Pass] = []
    waiting: list[_Pass] = []  # ended, and no op came since
    latest = -1
    for event in events:
        raw = event.node
        if event.kind == "backward_begin" and raw is not None:
            # What the pass walks was made before its root, maybe before the recording.
            running.append(_Pass(raw, max(latest, raw.sequence or -1)))
            passes.append(running[-1])
        elif event.kind == "backward_end" and running:
            waiting.append(running.pop())
        elif event.kind == "op" and raw is not None and raw.sequence is not None:
            latest = max(latest, raw.sequence)
            if running:
                running[-1].made.append(raw)
                continue
            for each in waiting:
                each.next = raw
            waiting.clear()
    return passes


def _add_unlogged(nodes: list[RawNode], passes: list[_Pass]) -> None:
    """Give each pass the nodes that no event names, by their sequence numbers."""
    if any(each.made for each in passes):
        return  # this log names them all
    numbered = sorted(
        (raw for raw in nodes if raw.sequence is not None and raw.kind != "inplace"),
        key=lambda raw: raw.sequence or 0,
    )
    at = 0
    for each in passes:
        while at < len(numbered) and (numbered[at].sequence or 0) <= each.after:
            at += 1
        while at < len(numbered) and not _of_call(numbered[at], each.next):
            each.made.append(numbered[at])
            at += 1


def _of_call(raw: RawNode, following: RawNode | None) -> bool:
    """Tell whether the call of an op made a node: its own, or one for it before.

    One call of PyTorch may make several, as ``linear`` makes one that transposes.
    """
    if following is None:
        return False
    if (raw.sequence or 0) >= (following.sequence or 0):
        return True
    return raw.site is not None and raw.site == following.site


def _largest(root: RawNode, found: dict[int, int]) -> int:
    """Return the largest order among the nodes that a pass from ``root`` can reach."""
    return max(found.get(key, 0) for key in reached([root]))
