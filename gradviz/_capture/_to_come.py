"""Which nodes a backward pass may still come to, as far as a recording can tell.

An optimizer step after backward() overwrites weights that the graph saved. That harms
nobody where the pass is over: only where a pass failed, or may be yet to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradviz._capture._raw import RawEvent, RawNode, Recording, ends_of


def to_come(recording: Recording) -> Callable[[RawNode], bool]:
    """Return whether a pass may still come to a node.

    Before the first pass that ended well it may come to any. Later it may come to what
    was made since, to what a failing pass walked, and to what a name still holds.
    """
    done, failed = _passes(recording.events)
    if not done:
        return lambda _: True
    latest = max(raw.sequence or 0 for raw in done)
    walked = _reached(done)
    held = [
        raw
        for raw in ends_of(recording.nodes)
        if id(raw) not in walked and any(each.holders for each in raw.outputs)
    ]
    waiting = _reached([*failed, *held])
    return lambda raw: id(raw) in waiting or (raw.sequence or 0) > latest


def _passes(events: Iterable[RawEvent]) -> tuple[list[RawNode], list[RawNode]]:
    """Return where the passes began that ended well, and those that did not."""
    done: list[RawNode] = []
    running: list[RawNode] = []
    failed: list[RawNode] = []
    for event in events:
        if event.kind == "backward_begin" and event.node is not None:
            running.append(event.node)
        elif event.kind == "backward_end" and running:
            (failed if event.text else done).append(running.pop())
    return done, failed + running


def _reached(roots: Iterable[RawNode]) -> set[int]:
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        raw = waiting.pop()
        if id(raw) not in found:
            found.add(id(raw))
            waiting.extend(edge.producer for edge in raw.edges)
    return found
