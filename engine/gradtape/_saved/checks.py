"""What a pass checks of saved tensors that versions do not tell: values, and history.

A write through ``.data`` or a NumPy alias goes round the version counter. While
somebody observes, each node that saves something gets a fingerprint of the values; a
pass that finds others tells the observers and warns. Without observers this costs a
pass the test of two empty tables.
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._backend import META, backend_of
from .._common.site import resolve, user_frame
from .._graph.node import Node, SavedTensor
from .._graph.observe import (
    OpCalled,
    SavedValueChanged,
    StorageWritten,
    attendants,
    notify,
    observers,
)
from .._storage.fingerprint import fingerprint
from .._storage.storage import WriteRecord
from .hooks import Packing

if TYPE_CHECKING:
    from .._graph.observe import Event
    from .._tensor.tensor import Tensor

CHANGED: Final = (
    "{node}{site} saved a tensor of shape {shape} as {slot} whose values have changed "
    "since, without the version counter noticing: its gradient is computed from the "
    "new values and does not belong to the forward pass. {culprit}"
)

UNKNOWN: Final = (
    "They were written or replaced by other means, such as a NumPy array or an "
    "assignment to .data."
)

DETACHED: Final = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with "
    ".detach_().This is not supported, please use out-of-place `.detach()` instead"
)

_moment = itertools.count().__next__


class Prints(NamedTuple):
    """The fingerprint of each slot of a node, and when they were taken."""

    values: list[int | None]  # None for a slot without values of its own
    taken: int


class Write(NamedTuple):
    """A write to memory, and the storage that it went through."""

    through: int
    record: WriteRecord
    moment: int


_prints: weakref.WeakKeyDictionary[Node, Prints] = weakref.WeakKeyDictionary()

_writes: OrderedDict[int, Write] = OrderedDict()
"""By address, the last write to the memory there."""

_WRITES_KEPT: Final = 1024

_detached: dict[int, tuple[weakref.ref[Tensor], weakref.ref[Node], int]] = {}
"""By id, the tensors alive that lost their history to ``detach_()``, and which."""


def suspicious() -> bool:
    """Tell whether :func:`inspect` could find something."""
    return bool(_prints or _detached)


def inspect(node: Node) -> None:
    """Check what ``node`` saved before its derivative uses it.

    Raises RuntimeError for an input that was detached in place.
    """
    node = getattr(node, "inner", node)  # CopySlices: the write it stands for
    if _detached:
        _refuse_detached(node)
    prints = _prints.get(node)
    if prints is None or not node.saved:
        return
    known = zip(prints.values, node.saved, strict=False)
    for at, (expected, entry) in enumerate(known):
        if expected is None or not _has_values(entry) or entry.is_stale:
            continue  # a stale one is an error of its own
        found = fingerprint(entry.array)
        if found != expected:
            prints.values[at] = found
            _report(node, at, entry, _culprit(entry, prints.taken))


# ---- values ------------------------------------------------------------------------


def _attend(event: Event) -> None:
    """Take fingerprints of what an op saved, and remember who wrote where."""
    if type(event) is OpCalled:
        if event.node is not None and event.node.saved:
            _prints[event.node] = Prints(_prints_of(event.node.saved), _moment())
    elif type(event) is StorageWritten:
        storage = event.storage
        record = WriteRecord(event.op, event.site, event.version)
        _writes[storage.pointer] = Write(storage.id, record, _moment())
        _writes.move_to_end(storage.pointer)
        if len(_writes) > _WRITES_KEPT:
            _writes.popitem(last=False)


attendants.append(_attend)


def _prints_of(saved: tuple[Any, ...]) -> list[int | None]:
    return [fingerprint(e.array) if _has_values(e) else None for e in saved]


def _has_values(entry: Any) -> bool:
    memory: Any = getattr(entry, "memory", None)
    if type(entry) is not SavedTensor or type(memory) is Packing:
        return False
    return backend_of(entry.array) is not META


def _report(node: Node, at: int, saved: SavedTensor, write: WriteRecord | None) -> None:
    slot = f"_saved_{node.slots[at]}"
    if observers:
        notify(SavedValueChanged(node, slot, saved.storage, write))
    if write is None:
        culprit = UNKNOWN
    else:
        where = "" if write.site is None else f" at {resolve(*write.site)}"
        culprit = f"It was written by {write.op}{where}, through an alias."
    text = CHANGED.format(
        node=node.name(),
        site="" if node.site is None else f", recorded at {node.site},",
        shape=list(saved.array.shape),
        slot=slot,
        culprit=culprit,
    )
    frame = user_frame()
    if frame is None:
        warnings.warn(text, UserWarning, stacklevel=2)
    else:
        code = frame.f_code
        warnings.warn_explicit(text, UserWarning, code.co_filename, frame.f_lineno)


def _culprit(saved: SavedTensor, since: int) -> WriteRecord | None:
    """Return the last write to the memory that another storage's counter counted.

    Only one since the tensor was saved: before, the address may have been another's.
    """
    write = _writes.get(saved.storage.pointer)
    if write is None or write.moment < since or write.through == saved.storage.id:
        return None
    return write.record


# ---- history -----------------------------------------------------------------------


def note_detached(tensor: Tensor) -> None:
    """Remember the history that ``tensor`` is about to lose.

    Nodes that saved the tensor rely on it to find the history.
    """
    key, node = id(tensor), tensor._grad_fn
    if node is not None:
        alive = weakref.ref(tensor, lambda _: _detached.pop(key, None))
        _detached[key] = alive, weakref.ref(node), tensor._nr


def _refuse_detached(node: Node) -> None:
    for entry in node.saved or ():
        tensor = getattr(entry, "tensor", None)
        if tensor is None or tensor._grad_fn is not None or id(tensor) not in _detached:
            continue
        _, reference, number = _detached[id(tensor)]
        lost = reference()  # saved afterwards, it has no edge to what was lost
        if lost is not None and (lost, number) in node.next_functions:
            raise RuntimeError(DETACHED)
