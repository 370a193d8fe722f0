"""Tensors and nodes of gradtape as records of the program log.

Nothing here keeps a tensor, an array or a node alive. A node's key is its sequence
number, which no other node has; the node that accumulates into a leaf has the number of
that leaf, negated, since the engine makes such nodes anew.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from gradtape._node import AccumulateGrad, Node, SavedTensor, next_sequence_nr
from gradtape._tensor import Tensor
from gradtape._views import CopySlices
from gradtape.autograd._custom_node import CustomNode
from gradtape.nn.parameter import Parameter
from gradviz._capture._facts import device_of, is_packed, saved_slots
from gradviz._capture._gradtape_log_scan import Scan
from gradviz.program.events import Call
from gradviz.program.log import Identities
from gradviz.program.records import Program
from gradviz.program.values import Node as NodeRow
from gradviz.program.values import Saved, Value

Slots: TypeAlias = list[tuple[str, int | None, SavedTensor]]
"""What a node saved: the slot, which output it is if it is one, and the record."""

_MOST_MAKERS = 20_000


class _Names(dict[Any, str]):
    """The name of each dtype; NumPy takes 1 µs to tell it."""

    def __missing__(self, dtype: Any) -> str:
        name = self[dtype] = dtype.name
        return name


_NAMES = _Names()


class _Known(weakref.ref[Tensor]):
    """A tensor that was described: its value then, and the array it looked into."""

    __slots__ = ("array", "changes", "key", "value")

    key: int
    value: Value
    array: int  # id of it: another one once the tensor was given other memory
    changes: int  # of that memory, until then


class Reader:
    """Describes tensors and nodes, each one once while it stays as it is."""

    def __init__(self, program: Program, tensors: Identities, scan: Scan) -> None:
        self.program = program
        self._firsts: list[int] = []  # sequence numbers: where each call's nodes begin
        self._makers: list[tuple[int, Call]] = []  # and where they end
        self._scan = scan
        self._tensors = tensors
        self._storages = Identities()
        self._known: dict[int, _Known] = {}
        self._changes: dict[int, int] = {}  # of each storage, whoever counts them
        self._strides: dict[Any, tuple[int, ...]] = {}  # in elements, by those in bytes

    # ---- tensors --------------------------------------------------------------------

    def value(self, tensor: Tensor) -> Value:
        """Describe a tensor as it is now, and add the rows of the nodes behind it."""
        value = self.look(tensor)
        if value.node is not None and value.node not in self.program.nodes:
            assert tensor._grad_fn is not None
            self.read(tensor._grad_fn, (tensor,))
        return value

    def changed(self, storage: int) -> None:
        """Note that memory has other contents: values are to be looked at again."""
        if self._scan.on:
            self._changes[storage] = self._changes.get(storage, 0) + 1

    def storage(self, array: Any) -> int:
        """Return the number of the memory that an array looks into."""
        return self._storages.of(root_of(array))

    def look(self, tensor: Tensor) -> Value:
        """Describe a tensor as it is now; its graph may not be known."""
        known = self._known.get(id(tensor))
        memory, view, data = tensor._memory, tensor._view, tensor._data
        version = 0 if memory is None or memory.inference else memory.version
        node = tensor._grad_fn  # of a view, perhaps not what it will be when asked for
        key = None if node is None else node.seq + 1
        needs = tensor._needs if view is None else tensor.requires_grad
        if known is not None and known.array == id(data) and known() is tensor:
            value = known.value
            if (
                value.version == version
                and value.node == key
                and value.requires_grad is needs
                and known.changes == self._changes.get(value.storage, 0)
            ):
                return value
        value = self._described(data, version, self._tensors.of(tensor))
        if view is not None:
            value.offset, value.is_view = view.offset, view.base is not None
        value.requires_grad, value.is_leaf = needs, node is None
        value.node, value.output = key, tensor._nr
        if type(tensor) is not Tensor or tensor.__dict__:
            value.is_parameter = isinstance(tensor, Parameter)
        self._keep(tensor, value, id(data))
        return value

    def _keep(self, tensor: Tensor, value: Value, array: int) -> None:
        known = _Known(tensor, self._forget)
        known.key, known.value, known.array = id(tensor), value, array
        known.changes = self._changes.get(value.storage, 0)
        self._known[known.key] = known

    def _forget(self, gone: Any) -> None:
        if self._known.get(gone.key) is gone:
            del self._known[gone.key]

    def _described(self, array: Any, version: int, number: int) -> Value:
        plain = type(array) is np.ndarray
        steps = array.strides if plain else getattr(array, "strides", ())
        layout = array.itemsize, steps
        strides = self._strides.get(layout)
        if strides is None:
            strides = tuple([step // array.itemsize for step in steps])
            self._strides[layout] = strides
        value = Value(
            number,
            self.storage(array),
            version,
            array.shape if plain else tuple(array.shape),
            strides,
            0,
            _NAMES[array.dtype],
            "cpu" if plain else device_of(array),
        )
        if self._scan.on:
            value.summary, value.text = self._scan.look(array)
        return value

    # ---- nodes ----------------------------------------------------------------------

    def key(self, node: Node) -> int:
        """Return the key of a node's row."""
        if node.accumulates:
            assert isinstance(node, AccumulateGrad)
            return -self._tensors.of(node.variable)
        return node.seq + 1

    def called(self, call: Call, first: int, outputs: Sequence[Tensor]) -> None:
        """Note that the nodes made since number ``first`` are this call's.

        Their rows are added now if values are looked at, else by the next backward
        pass, which is when they first matter.
        """
        if all(tensor._grad_fn is None for tensor in outputs):
            return
        self._firsts.append(first)
        self._makers.append((next_sequence_nr(), call))
        if len(self._firsts) > _MOST_MAKERS:
            del self._firsts[: _MOST_MAKERS // 2]
            del self._makers[: _MOST_MAKERS // 2]
        if self._scan.on:
            for tensor in outputs:
                node = tensor._grad_fn
                if node is not None and node.seq + 1 not in self.program.nodes:
                    self.read(node, outputs)

    def maker(self, node: Node) -> Call | None:
        """Return the call that made a node, if it was logged."""
        at = bisect_left(self._firsts, node.seq) - 1
        if at < 0:
            return None
        last, call = self._makers[at]
        return call if node.seq < last else None

    def read(self, node: Node, outputs: Sequence[Tensor] = ()) -> None:
        """Add the rows of a node and of all behind it that have none yet."""
        nodes = self.program.nodes
        met = {id(tensor._data): self.look(tensor) for tensor in outputs}
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if self.key(node) not in nodes:
                self.row(node, slots_of(node), met)
                waiting += [each for each in node.nodes if each is not None]

    def row(self, node: Node, slots: Slots, met: dict[int, Value]) -> NodeRow:
        """Add the row of a node. ``met`` has the values of arrays in sight."""
        key = self.key(node)
        row = self.program.nodes[key] = NodeRow(key, type(node).__name__)
        if node.accumulates:
            row.leaf, row.shape = -key, node.layouts[0].shape
            return row
        self._fill(row, node, slots, met)
        return row

    def _fill(
        self, row: NodeRow, node: Node, slots: Slots, met: dict[int, Value]
    ) -> None:
        row.next = tuple(
            [
                None if each is None or each.dead else (self.key(each), number)
                for each, number in zip(node.nodes, node.numbers, strict=True)
            ]
        )
        row.site, row.sequence = node.raw_site, node.seq
        call = self.maker(node)
        if call is not None:
            row.call, row.module = call.index, call.module
            call.nodes += (row.key,)
        layouts = node.layouts
        row.shape = layouts[0].shape if layouts and layouts[0] else None
        if slots:
            row.saved = tuple(
                [
                    Saved(slot, self._saved(entry, number, row.key, met))
                    for slot, number, entry in slots
                ]
            )

    def _saved(
        self, entry: SavedTensor, output: int | None, node: int, met: dict[int, Value]
    ) -> Value:
        """Describe what was saved; of an output the node holds the memory alone.

        ``met`` has the values of the tensors over arrays that are in sight.
        """
        tensor, version = entry.tensor, entry.version
        if tensor is not None:
            value = met[id(tensor._data)] = self.look(tensor)
        else:
            known = met.get(id(entry.held))
            if known is None:
                number = self._tensors.of(entry.held)
                known = self._described(entry.held, version, number)
                known.requires_grad, known.is_leaf = True, False
                known.node, known.output = node, output or 0
            value = known
        return value if value.version == version else replace(value, version=version)


def slots_of(node: Node) -> Slots:
    """Return what a node saved as tensors that a pass will find.

    Slot, which output it is if it is one, and the engine's record.
    """
    if type(node) is CopySlices:
        node = node.inner  # the write that it stands for
    saved = node.saved
    if not saved:
        return []
    if isinstance(node, CustomNode):
        return [each for each in saved_slots(node) if not is_packed(each[2])]
    found: Slots = []
    for (name, number), entry in zip(_SLOTS[type(node)], saved, strict=False):
        if type(entry) is SavedTensor:
            if not is_packed(entry):
                found.append((name, number, entry))
        elif isinstance(entry, (list, tuple)):
            found += [
                (f"{name}[{at}]", number, each)
                for at, each in enumerate(entry)
                if type(each) is SavedTensor and not is_packed(each)
            ]
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


def root_of(array: Any) -> Any:
    """Return the array that owns the memory of this one."""
    kind = type(array)
    while type(base := getattr(array, "base", None)) is kind:
        array = base
    return array


def version_of(tensor: Tensor) -> int:
    """Return how often the memory was written; inference tensors do not count."""
    memory = tensor._memory
    return 0 if memory is None or memory.inference else memory.version
