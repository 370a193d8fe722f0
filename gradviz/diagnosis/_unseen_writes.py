"""Saved memory that changed although its version did not: gradients silently wrong."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.dependence.learning import once
from gradviz.dependence.op_families import words
from gradviz.diagnosis._memory import overlap
from gradviz.diagnosis._saved_writes import reached
from gradviz.diagnosis._views import through
from gradviz.program import Backward, Call, History, Node, Value

EXPORTS = words(
    "numpy __array__ from_numpy as_tensor asarray frombuffer __dlpack__ to_dlpack "
    "from_dlpack data_ptr"
)
"""Calls after which memory of a tensor is known outside the engine, too."""

Writer: TypeAlias = tuple[Call, Value | None]
"""A call, and the elements that it wrote; None where all were replaced."""

_WRITTEN_BY_THE_OP = ("running_mean", "running_var")  # batch norm: its own statistics


@dataclass(frozen=True, slots=True)
class UnseenWrite:
    """A saved value, the pass that used it, and the call that wrote it, if known."""

    backward: Backward
    node: Node
    slot: str
    value: Value
    call: Call | None
    after: int  # the write came after this event


# ---- through .data ------------------------------------------------------------------


@once
def data_writes(history: History) -> list[UnseenWrite]:
    """Return what was written through ``.data`` between its save and its use."""
    if not any(call.op.startswith("data.") for call in history.calls):
        return []
    unguarded, replaced = _unguarded(history), _replaced(history)
    found: list[UnseenWrite] = []
    for backward in history.backwards:
        for node in reached(history, backward) if backward.error is None else ():
            for saved in node.saved:
                value = saved.value
                first = _first(
                    _between(node, unguarded.get(value.storage, []), backward),
                    _between(node, replaced.get(value.tensor, []), backward),
                    value,
                )
                if first is not None and not _by_the_op(saved.slot):
                    after = first.index - 1
                    found.append(
                        UnseenWrite(backward, node, saved.slot, value, first, after)
                    )
    return found


def _first(
    written: Iterable[Writer], replaced: Iterable[Writer], value: Value
) -> Call | None:
    """Return the first call that changed what a saved value shows."""
    calls = [
        call
        for call, elements in (*written, *replaced)
        if elements is None or overlap(elements, value)
    ]
    return min(calls, key=lambda call: call.index, default=None)


def _unguarded(history: History) -> dict[int, list[Writer]]:
    """Return the writes through ``.data`` per storage: call and elements."""
    found: dict[int, list[Writer]] = defaultdict(list)
    for call in history.calls:
        for write in call.writes:
            written = [each for each in call.inputs if each.storage == write.storage]
            if any(
                through(history, each, "data.get") is not None
                for each in (write.value, *written)
            ):
                found[write.storage].append((call, write.value))
    return found


def _replaced(history: History) -> dict[int, list[Writer]]:
    """Return the assignments ``t.data = …`` per tensor: it was given other memory."""
    found: dict[int, list[Writer]] = defaultdict(list)
    for call in history.calls:
        if call.op == "data.set" and call.inputs:
            found[call.inputs[0].tensor].append((call, None))
    return found


def _between(node: Node, writers: list[Writer], backward: Backward) -> Iterator[Writer]:
    """Yield the writes of the program itself between a save and the pass.

    gradcheck moves its inputs through ``.data`` in the call that also runs backward.
    """
    made = -1 if node.call is None else node.call
    first = bisect_right(writers, made, key=lambda writer: writer[0].index)
    for writer in writers[first:]:
        if writer[0].index >= backward.index:
            return
        if writer[0].site != backward.site:
            yield writer


# ---- from outside -------------------------------------------------------------------


@once
def silent_changes(history: History) -> list[UnseenWrite]:
    """Return what changed without any recorded write, one per storage and pass."""
    known = {(each.backward.index, each.value.storage) for each in data_writes(history)}
    unguarded = _unguarded(history)
    found: list[UnseenWrite] = []
    for backward in history.backwards:
        for stale in backward.stale:
            node = history.node(stale.node)
            key = (backward.index, stale.value.storage)
            if (
                node is None
                or not stale.silent
                or key in known
                or _by_the_op(stale.slot)
                # Seen writes, to other elements: they changed the fingerprint, too.
                or any(_between(node, unguarded.get(key[1], []), backward))
            ):
                continue
            known.add(key)
            saved_at = -1 if node.call is None else node.call
            after = saved_at if stale.after is None else max(saved_at, stale.after)
            found.append(
                UnseenWrite(backward, node, stale.slot, stale.value, None, after)
            )
    return found


def _by_the_op(slot: str) -> bool:
    return slot.endswith(_WRITTEN_BY_THE_OP)


def exports(history: History, storage: int, before: int) -> list[Call]:
    """Return the calls that gave a storage's memory to someone else."""
    return [
        call for call in history.once(_exports).get(storage, ()) if call.index < before
    ]


def _exports(history: History) -> dict[int, list[Call]]:
    found: dict[int, list[Call]] = defaultdict(list)
    for call in history.calls:
        if call.op in EXPORTS:
            for storage in {each.storage for each in (*call.inputs, *call.outputs)}:
                found[storage].append(call)
    return found
