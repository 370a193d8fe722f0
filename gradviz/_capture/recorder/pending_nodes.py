"""Which nodes a backward pass may still come to, as far as a recording can tell.

An optimizer step after backward() overwrites weights that the graph saved. That harms
nobody where the pass is over: only where a pass failed, or may be yet to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from gradviz._capture.recorder.raw import RawEvent, RawNode, Recording, ends_of, reached


def to_come(recording: Recording) -> Callable[[RawNode], bool]:
    """Return whether a pass may still come to a node; nothing is looked up before.

    Before the first pass that ended well it may come to any. Later it may come to what
    was made since, to what a failing pass walked, and to what a name still holds.
    """

    @cache
    def facts() -> tuple[int, set[int]]:
        done, failed = _passes(recording.events)
        if not done:
            return -1, set()
        walked = reached(done)
        held = [
            raw
            for raw in ends_of(recording.nodes)
            if id(raw) not in walked and any(each.holders for each in raw.outputs)
        ]
        return max(raw.sequence or 0 for raw in done), reached([*failed, *held])

    def may_come(raw: RawNode) -> bool:
        latest, waiting = facts()
        return (raw.sequence or 0) > latest or id(raw) in waiting

    return may_come


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
