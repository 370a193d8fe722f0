"""Saved memory that changed although its version did not: gradients silently wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.diagnosis._memory import overlap
from gradviz.diagnosis._saved_writes import reached
from gradviz.diagnosis._views import through
from gradviz.program.events import Backward, Call
from gradviz.program.history import History
from gradviz.program.values import Node, Value

EXPORTS = frozenset(
    [
        "numpy",
        "__array__",
        "from_numpy",
        "as_tensor",
        "asarray",
        "frombuffer",
        "__dlpack__",
        "to_dlpack",
        "from_dlpack",
        "data_ptr",
    ]
)
"""Calls after which memory of a tensor is known outside the engine, too."""

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


def data_writes(history: History) -> list[UnseenWrite]:
    """Return what was written through ``.data`` between its save and its use."""
    return history.once(_data_writes)


def silent_changes(history: History) -> list[UnseenWrite]:
    """Return what changed without any recorded write, one per storage and pass."""
    return history.once(_silent_changes)


# ---- through .data ------------------------------------------------------------------


def _data_writes(history: History) -> list[UnseenWrite]:
    unguarded = _unguarded(history)
    return [
        each
        for backward in history.backwards
        if unguarded
        for each in _used(history, backward, unguarded)
    ]


def _unguarded(history: History) -> dict[int, list[tuple[Call, Value]]]:
    """Return the writes through ``.data`` per storage: call and elements."""
    if not any(call.op.startswith("data.") for call in history.calls):
        return {}
    found: dict[int, list[tuple[Call, Value]]] = defaultdict(list)
    for call in history.calls:
        if call.op == "data.set" and call.inputs:
            found[call.inputs[0].storage].append((call, call.inputs[0]))
        for write in call.writes:
            if through(history, write.value, "data.get") is not None or any(
                through(history, each, "data.get") is not None
                for each in call.inputs
                if each.storage == write.storage
            ):
                found[write.storage].append((call, write.value))
    return found


def _used(
    history: History,
    backward: Backward,
    unguarded: dict[int, list[tuple[Call, Value]]],
) -> Iterator[UnseenWrite]:
    if backward.error is not None:
        return
    for node in reached(history, backward):
        for saved in node.saved:
            if _by_the_op(saved.slot):
                continue
            for call, elements in unguarded.get(saved.value.storage, ()):
                if (
                    _between(node, call, backward)
                    and overlap(elements, saved.value)
                    and not _only_replaced(call, saved.value)
                ):
                    yield UnseenWrite(
                        backward, node, saved.slot, saved.value, call, call.index - 1
                    )
                    break


def _between(node: Node, call: Call, backward: Backward) -> bool:
    made = -1 if node.call is None else node.call
    return made < call.index < backward.index


def _only_replaced(call: Call, saved: Value) -> bool:
    """Did ``t.data = …`` give new memory to a tensor that was not saved itself?"""
    return call.op == "data.set" and call.inputs[0].tensor != saved.tensor


# ---- from outside -------------------------------------------------------------------


def _silent_changes(history: History) -> list[UnseenWrite]:
    known = {(each.backward.index, each.value.storage) for each in data_writes(history)}
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
        call
        for call in history.calls
        if call.index < before
        and call.op in EXPORTS
        and any(each.storage == storage for each in (*call.inputs, *call.outputs))
    ]
