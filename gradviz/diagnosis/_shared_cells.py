"""Writes to a part of a tensor whose elements share memory among themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence.learning import once
from gradviz.diagnosis._memory import cells, landing, numel, repeats
from gradviz.diagnosis._views import ancestors
from gradviz.program import Call, History, RawSite, Value, Write

_MOST = 100_000  # elements that are counted one by one


@dataclass(frozen=True, slots=True)
class SharedWrite:
    """A write that changed more elements of ``whole`` than it named."""

    call: Call
    write: Write
    whole: Value  # the tensor whose elements share memory
    made: Call | None  # the call that made it so
    expanded: bool  # a stride is 0; otherwise windows overlap


@once
def shared_writes(history: History) -> list[SharedWrite]:
    """Return, per line, the first write that changed other elements as well."""
    found: dict[RawSite | None, SharedWrite] = {}
    for call in history.calls:
        for write in call.writes if call.error is None else ():
            if call.site not in found:
                shared = _shared(history, call, write)
                if shared is not None:
                    found[call.site] = shared
    return list(found.values())


def _shared(history: History, call: Call, write: Write) -> SharedWrite | None:
    for value, made in _lineage(history, call, write):
        if repeats(value) and _changes_more(value, write):
            return SharedWrite(call, write, value, made, 0 in _used_strides(value))
    return None


def _changes_more(whole: Value, write: Write) -> bool:
    """Do more elements of a tensor lie where was written than were named?"""
    if max(numel(whole), numel(write.value)) > _MOST:
        return True
    named = numel(write.value)
    return landing(whole, cells(write.value)) > named or repeats(write.value)


def _lineage(
    history: History, call: Call, write: Write
) -> Iterator[tuple[Value, Call | None]]:
    """Yield what was written, the tensor it belongs to, and what that views."""
    argument = next(
        (each for each in call.inputs if each.storage == write.storage), None
    )
    for start in (write.value, argument):
        if start is None:
            continue
        yield start, history.producer(start)
        for _, base in ancestors(history, start):
            yield base, history.producer(base)


def _used_strides(value: Value) -> list[int]:
    return [
        stride
        for size, stride in zip(value.shape, value.strides, strict=False)
        if size > 1
    ]
