"""What nodes of gradtape saved, under PyTorch's names for it."""

from __future__ import annotations

from typing import Any, TypeAlias

from gradtape._debug import CopySlices, Node, Packing, SavedTensor
from gradviz._capture.adapters.gradtape.op_facts import is_packed, saved_slots

Slots: TypeAlias = list[tuple[str, int | None, SavedTensor]]
"""What a node saved: the slot, which output it is if it is one, and the record."""


def slots_of(node: Node) -> Slots:
    """Return what a node saved as tensors that a pass will find.

    Slot, which output it is if it is one, and the engine's record.
    """
    if type(node) is CopySlices:
        node = node.inner  # the write that it stands for
    if node.foreign:
        return [each for each in saved_slots(node) if not is_packed(each[2])]
    found: Slots = []
    at = 0
    for entry in node.saved or ():
        if type(entry) is SavedTensor:
            memory: Any = entry.memory
            if memory is None or type(memory) is not Packing:
                found.append((*_SLOTS[type(node)][at], entry))
        elif type(entry) is tuple or type(entry) is list:
            name, number = _SLOTS[type(node)][at]
            found += [
                (f"{name}[{position}]", number, each)
                for position, each in enumerate(entry)
                if type(each) is SavedTensor and not is_packed(each)
            ]
        at += 1  # noqa: SIM113 - enumerate() costs more than the few slots
    return found


class _Slots(dict[type[Node], list[tuple[str, int | None]]]):
    """PyTorch's names of a node's slots, and which output each one holds."""

    def __missing__(self, kind: type[Node]) -> list[tuple[str, int | None]]:
        self[kind] = found = [
            (
                f"_saved_{slot}",
                int(slot[6:] or 0) if slot.startswith("result") else None,
            )
            for slot in kind.slots
        ]
        return found


_SLOTS = _Slots()
