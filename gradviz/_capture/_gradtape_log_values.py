"""Tensors and nodes of gradtape as records of the program log.

Nothing here keeps a tensor, an array or a node alive. A node's key is its sequence
number, which no other node has; the node that accumulates into a leaf has the number of
that leaf, negated, since the engine makes such nodes anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from gradtape._node import AccumulateGrad, Node, SavedTensor, next_sequence_nr
from gradtape._tensor import Tensor
from gradtape.nn.parameter import Parameter
from gradviz._capture._facts import device_of
from gradviz._capture._gradtape_log_scan import Scan
from gradviz._capture._gradtape_log_slots import Slots, slots_of
from gradviz.program.events import Call
from gradviz.program.log import Identities
from gradviz.program.records import Program
from gradviz.program.values import Node as NodeRow
from gradviz.program.values import Saved, Value

_MOST_MAKERS = 20_000

_FIRST_PRUNED = 4_096


_names: dict[int, tuple[Any, str]] = {}
"""By its id, a dtype and its name: NumPy takes 1 µs to tell it, or to hash a dtype."""


def _name_of(dtype: Any) -> str:
    known = _names.get(id(dtype))
    if known is None:
        known = dtype, str(dtype.name)
        if len(_names) < _FIRST_PRUNED:
            _names[id(dtype)] = known
    return known[1]


Layout: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

_layouts: dict[tuple[tuple[int, ...], tuple[int, ...], int], Layout] = {}
"""By shape, strides in bytes and item size: shape and strides that values share."""


def _layout_of(array: Any) -> Layout:
    key = array.shape, array.strides, array.itemsize
    known = _layouts.get(key)
    if known is None:
        shape, steps, item = key
        known = shape, tuple([step // item for step in steps])
        if len(_layouts) < _FIRST_PRUNED:
            _layouts[key] = known
    return known


Note: TypeAlias = tuple[Value, int, int]
"""The value of a tensor, the id of its array then, and the changes of that memory."""


class Reader:
    """Describes tensors and nodes, each one once while it stays as it is."""

    def __init__(self, program: Program, tensors: Identities, scan: Scan) -> None:
        self.program = program
        self._firsts: list[int] = []  # sequence numbers: where each call's nodes begin
        self._makers: list[tuple[int, Call]] = []  # and where they end
        self._scan = scan
        self.eager = scan.on  # whether nodes are read as soon as they are made
        self._tensors = tensors
        self._storages = Identities()
        self._notes: dict[int, Note] = {}  # by number of the tensor
        self._room = _FIRST_PRUNED
        self._changes: dict[int, int] = {}  # of each storage, whoever counts them

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
        number = self._tensors.of(tensor)
        note = self._notes.get(number)
        memory, view, data = tensor._memory, tensor._view, tensor._data
        version = 0 if memory is None or memory.inference else memory.version
        node = tensor._grad_fn  # of a view, perhaps not what it will be when asked for
        key = None if node is None else node.seq + 1
        needs = tensor._needs if view is None else tensor.requires_grad
        if note is not None:
            value, array, changes = note
            if (
                value.node == key
                and value.requires_grad is needs
                and array == id(data)  # else it was given other memory
                and changes == self._changes.get(value.storage, 0)
            ):
                if value.version == version:
                    return value
                if not self._scan.on:
                    value = _at_version(value, version)
                    self._notes[number] = value, array, changes
                    return value
        value = self._described(data, version, number)
        if view is not None:
            value.offset, value.is_view = view.offset, view.base is not None
        value.requires_grad, value.is_leaf = needs, node is None
        value.node, value.output = key, tensor._nr
        # Leaves alone are asked for a dict: a tensor makes its own when it is.
        if type(tensor) is not Tensor or (node is None and tensor.__dict__):
            value.is_parameter = isinstance(tensor, Parameter)
        self._notes[number] = value, id(data), self._changes.get(value.storage, 0)
        if len(self._notes) > self._room:
            self._prune()
        return value

    def _prune(self) -> None:
        """Forget the values of tensors that are gone."""
        alive = {number for number, _ in self._tensors.alive()}
        self._notes = {n: note for n, note in self._notes.items() if n in alive}
        self._room = max(_FIRST_PRUNED, 2 * len(self._notes))

    def _described(self, array: Any, version: int, number: int) -> Value:
        if type(array) is np.ndarray:
            (shape, strides), device = _layout_of(array), "cpu"
        else:
            item, steps = array.itemsize, getattr(array, "strides", ())
            shape, strides = tuple(array.shape), tuple([step // item for step in steps])
            device = device_of(array)
        value = Value(
            number,
            self.storage(array),
            version,
            shape,
            strides,
            0,
            _name_of(array.dtype),
            device,
        )
        if self._scan.on:
            value.summary, value.text = self._scan.look(array)
        return value

    # ---- nodes ----------------------------------------------------------------------

    def key(self, node: Node) -> int:
        """Return the key of a node's row."""
        if type(node) is AccumulateGrad or isinstance(node, AccumulateGrad):
            return -self._tensors.of(node.variable)
        return node.seq + 1

    def called(self, call: Call, first: int, outputs: Sequence[Tensor]) -> None:
        """Note that the nodes made since number ``first`` are this call's.

        Their rows are added now if values are looked at, else by the next backward
        pass, which is when they first matter.
        """
        for tensor in outputs:
            if tensor._grad_fn is not None:
                break
        else:
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
        self.assign(row)
        layouts = node.layouts
        row.shape = layouts[0].shape if layouts and layouts[0] else None
        row.saved = self.saved(slots, row.key, met)

    def assign(self, row: NodeRow) -> None:
        """Let a row and the call that made its node refer to each other."""
        at = bisect_left(self._firsts, row.key - 1) - 1
        last, call = self._makers[at] if at >= 0 else (0, None)
        if call is not None and row.key <= last:
            row.call, row.module = call.index, call.module
            call.nodes += (row.key,)

    def saved(self, slots: Slots, key: int, met: dict[int, Value]) -> tuple[Saved, ...]:
        """Describe what a node saved."""
        return tuple(
            [
                Saved(slot, self.kept(entry, number, key, met))
                for slot, number, entry in slots
            ]
        )

    def kept(
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
        return value if value.version == version else _at_version(value, version)


def _at_version(old: Value, version: int) -> Value:
    """Return the value of a tensor that was written, else as it was."""
    value = Value(
        old.tensor,
        old.storage,
        version,
        old.shape,
        old.strides,
        old.offset,
        old.dtype,
        old.device,
    )
    value.requires_grad, value.is_leaf = old.requires_grad, old.is_leaf
    value.is_view, value.is_parameter = old.is_view, old.is_parameter
    value.node, value.output = old.node, old.output
    return value


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
