"""Tensors and nodes of gradtape as records of the program log.

Nothing here keeps a tensor, an array or a node alive. A node's key is its sequence
number, which no other node has; the node that accumulates into a leaf has the number of
that leaf, negated, since the engine makes such nodes anew.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from gradtape._debug import AccumulateGrad, Node, SavedTensor, Tensor, next_sequence_nr
from gradtape.nn.parameter import Parameter
from gradviz._capture.adapters.gradtape.op_facts import (
    device_of,
    is_packed,
    saved_slots,
)
from gradviz._capture.adapters.gradtape.output_layouts import known_layouts, new_layout
from gradviz._capture.adapters.gradtape.saved_attributes import Slots, slots_of
from gradviz._capture.adapters.gradtape.value_scan import Scan
from gradviz.program.events import Call
from gradviz.program.log import Identities
from gradviz.program.noted import Glance
from gradviz.program.records import Program
from gradviz.program.values import Node as NodeRow
from gradviz.program.values import Saved, Value

Row: TypeAlias = tuple[weakref.ref[Tensor], int, Glance, int | None, int, int]
"""A tensor, its number, the glance at it, and what is another once that is outdated:
the number of its node, the id of its array, and the changes of that memory."""

Met: TypeAlias = dict[int, Glance]
"""By the id of an array in sight, the glance at its tensor."""

STORAGE, VERSION, _NEEDS, _SUMMARY = 1, 2, 8, 14
"""Places of fields in a glance."""

_Maker: TypeAlias = tuple[int, int, int, int | None]
"""Sequence numbers between which a call's nodes are, its index and its module."""


class Reader:
    """Describes tensors and nodes, each one once while it stays as it is."""

    def __init__(self, program: Program, tensors: Identities, scan: Scan) -> None:
        self.program = program
        self.token = object()  # no other log has it
        self.makers: list[_Maker] = []
        self._scan = scan
        self.eager = scan.on  # whether nodes are read as soon as they are made
        self.tensors = tensors
        self.number = tensors.of
        self._rows: dict[int, Any] = tensors.rows  # a Row of each that was looked at
        self.storages = Identities()
        self._stored = self.storages.rows
        self._changes: dict[int, int] = {}  # of each storage, whoever counts them
        self.detailed = False  # a picture of the graph is made too
        self.folded_to = 0  # nodes with lower numbers are read no more
        self.met_late: Callable[[Node, int], None] = _ignored
        """Told of nodes that were made before that."""
        self.sizes: dict[int, tuple[int, int]] = {}  # by storage, then: in all, of each

    # ---- tensors --------------------------------------------------------------------

    def value(self, tensor: Tensor) -> Value:
        """Describe a tensor as it is now, and add the rows of the nodes behind it."""
        value = self.seen(tensor)
        if value.node is not None and value.node not in self.program.nodes:
            assert tensor._grad_fn is not None
            self.read(tensor._grad_fn, (tensor,))
        return value

    def seen(self, tensor: Tensor) -> Value:
        """Describe a tensor as it is now; its graph may not be known."""
        return self.program.value(self.look(tensor))

    def changed(self, storage: int) -> None:
        """Note that memory has other contents: values are to be looked at again."""
        if self._scan.on:
            self._changes[storage] = self._changes.get(storage, 0) + 1

    def storage(self, array: Any) -> int:
        """Return the number of the memory that an array looks into."""
        return self.storages.of(root_of(array))

    def look(self, tensor: Tensor) -> Glance:
        """Return a tensor as it is now in short, the last glance where that holds.

        This is most of what a log costs: it calls as little as it can.
        """
        row = self._rows.get(id(tensor))
        if row is None or row[0]() is not tensor:
            return self._look_anew(tensor, None)
        if len(row) == 2:  # it has a number, and was never looked at
            return self._look_anew(tensor, row)
        reference, number, glance, known, array, changes = row
        memory, view, node = tensor._memory, tensor._view, tensor._grad_fn
        if (
            known is (None if node is None else node.seq)  # the very same object
            and glance[_NEEDS]
            is (tensor._needs if view is None else tensor.requires_grad)
            and array == id(tensor._data)  # else it was given other memory
            and (not self._changes or changes == self._changes.get(glance[STORAGE], 0))
        ):
            version = 0 if memory is None or memory.inference else memory.version
            if glance[VERSION] == version:
                return glance
            if not self._scan.on:
                glance = at_version(glance, version)
                row = reference, number, glance, known, array, changes
                self._rows[id(tensor)] = row
                return glance
        return self._look_anew(tensor, row)

    def _look_anew(self, tensor: Tensor, row: Any) -> Glance:
        """Describe a tensor that is new, or other than at the last glance."""
        data, view, tensors = tensor._data, tensor._view, self.tensors
        memory = tensor._memory
        version = 0 if memory is None or memory.inference else memory.version
        node = tensor._grad_fn  # of a view, perhaps not what it will be when asked for
        seq = None if node is None else node.seq
        needs = tensor._needs if view is None else tensor.requires_grad
        if row is None:
            number = tensors.count = tensors.count + 1
            reference = weakref.ref(tensor)
        else:
            reference, number = row[:2]
        if type(data) is np.ndarray:
            key = data.shape, data.strides, id(data.dtype)
            layout = known_layouts.get(key)
            shape, strides, dtype, _ = new_layout(data) if layout is None else layout
            root = data if data.base is None else root_of(data)
            storages, place = self.storages, id(root)
            stored = self._stored.get(place)
            if stored is not None and stored[0]() is root:
                storage = stored[1]
            else:  # what storages.of() does
                storage = storages.count = storages.count + 1
                self._stored[place] = weakref.ref(root), storage
                if len(self._stored) > storages.room:
                    storages.prune()
            device = "cpu"
        else:
            storage, shape, strides, dtype, device = self._memory_of(data)
        if self.detailed and storage not in self.sizes:
            self._measure(storage, data)
        offset, is_view = 0, False
        if view is not None:
            offset, is_view = view.offset, view.base is not None
        is_parameter = False
        # Leaves alone are asked for a dict: a tensor makes its own when it is.
        if type(tensor) is not Tensor or (seq is None and tensor.__dict__):
            is_parameter = isinstance(tensor, Parameter)
        glance: Glance = (
            number,
            storage,
            version,
            shape,
            strides,
            offset,
            dtype,
            device,
            needs,
            seq is None,
            is_view,
            None if seq is None else seq + 1,
            tensor._nr,
            is_parameter,
        )
        if self._scan.on:
            glance += self._scan.look(data)
        changes = self._changes.get(storage, 0) if self._changes else 0
        self._rows[id(tensor)] = reference, number, glance, seq, id(data), changes
        if len(self._rows) > tensors.room:
            tensors.prune()
        return glance

    def _measure(self, storage: int, array: Any) -> None:
        root = root_of(array)
        nbytes = getattr(root, "nbytes", 0) if type(root) is type(array) else 0
        self.sizes[storage] = int(nbytes), array.itemsize
        if len(self.sizes) > 2 * self.storages.room:
            living = {number for number, _ in self.storages.alive()}
            oldest = storage - self.storages.room
            for each in list(self.sizes):  # other threads may add some meanwhile
                if each < oldest and each not in living:
                    self.sizes.pop(each, None)

    def _memory_of(self, array: Any) -> tuple[int, Any, Any, str, str]:
        """Return storage, shape, strides, dtype and device of an array."""
        item, steps = array.itemsize, getattr(array, "strides", ())
        shape, strides = tuple(array.shape), tuple([step // item for step in steps])
        storage, dtype = self.storage(array), str(array.dtype.name)
        return storage, shape, strides, dtype, device_of(array)

    # ---- nodes ----------------------------------------------------------------------

    def key(self, node: Node) -> int:
        """Return the key of a node's row."""
        if type(node) is AccumulateGrad or isinstance(node, AccumulateGrad):
            return -self.tensors.of(node.variable)
        return node.seq + 1

    def called(
        self, index: int, module: int | None, first: int, outputs: Sequence[Tensor]
    ) -> None:
        """Note that the nodes made since number ``first`` are those of a call.

        Their rows are added now if values are looked at, else by the next backward
        pass, which is when they first matter.
        """
        self.makers.append((first, next_sequence_nr(), index, module))
        if self._scan.on and not self.detailed:
            for tensor in outputs:
                node = tensor._grad_fn
                if node is not None and node.seq + 1 not in self.program.nodes:
                    self.read(node, outputs)

    def forget(self, oldest: int) -> int:
        """Forget which nodes were made by calls before an index; return how many."""
        makers = self.makers
        count = bisect_left(makers, oldest, key=itemgetter(2))
        del makers[:count]
        return count

    def read(self, node: Node, outputs: Sequence[Tensor] = ()) -> None:
        """Add the rows of a node and of all behind it that have none yet."""
        nodes = self.program.nodes
        met: Met = {id(tensor._data): self.look(tensor) for tensor in outputs}
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node.seq >= self.folded_to and self.key(node) not in nodes:
                if self.detailed:
                    self.met_late(node, node.seq + 1)
                self.row(node, slots_of(node), met)
                waiting += [each for each in node.nodes if each is not None]

    def leaf(self, node: Node) -> int:
        """Return the key of a leaf's node, and see to its row."""
        variable = node.variable
        known = self._rows.get(id(variable))
        if known is not None and known[0]() is variable:
            key = -known[1]
        else:
            key = -self.number(variable)
        if key not in self.program.nodes:
            self.row(node, [], {})
        return key

    def row(self, node: Node, slots: Slots, met: Met) -> NodeRow:
        """Add the row of a node. ``met`` has the values of arrays in sight."""
        key = self.key(node)
        row = self.program.nodes[key] = NodeRow(key, type(node).__name__)
        if node.accumulates:
            row.leaf, row.shape = -key, node.layouts[0].shape
            if self.detailed:
                row.outputs = (self.program.value(self.look(node.variable)),)
            return row
        self._fill(row, node, slots, met)
        return row

    def _fill(self, row: NodeRow, node: Node, slots: Slots, met: Met) -> None:
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
        at = bisect_left(self.makers, row.key - 1, key=itemgetter(0)) - 1
        _, last, index, module = self.makers[at] if at >= 0 else (0, 0, 0, None)
        if row.key > last:
            return
        row.call, row.module = index, module
        call = self.program.event(index)
        if isinstance(call, Call):
            call.nodes += (row.key,)

    def saved(self, slots: Slots, key: int, met: Met) -> tuple[Saved, ...]:
        """Describe what a node saved."""
        return tuple(
            [
                Saved(slot, self.program.value(self.kept(entry, number, key, met)))
                for slot, number, entry in slots
            ]
        )

    def packed(self, node: Node, met: Met) -> tuple[Saved, ...]:
        """Describe what a saved-tensors hook holds in a node's stead."""
        made = list(met.values())
        found: list[Saved] = []
        inner = getattr(node, "inner", node)  # CopySlices: the write itself
        for slot, output, entry in saved_slots(inner):
            if is_packed(entry):
                if output is not None and output < len(made):
                    glance = made[output]
                else:
                    glance = self._unseen(entry)
                value = self.program.value(at_version(glance, entry.version))
                found.append(Saved(slot, value, hooked=True))
        return tuple(found)

    def _unseen(self, entry: SavedTensor) -> Glance:
        """Describe what was packed; where the values are, its hook knows."""
        if entry.tensor is not None:
            return self.look(entry.tensor)
        _, shape, strides, dtype, device = self._memory_of(entry.array)
        place = 0, 0, entry.version, shape, strides, 0, dtype, device
        return *place, True, False, False, None, 0, False

    def kept(
        self, entry: SavedTensor, output: int | None, node: int, met: Met
    ) -> Glance:
        """Describe what was saved; of an output the node holds the memory alone."""
        tensor, version = entry.tensor, entry.version
        if tensor is not None:
            glance = met[id(tensor._data)] = self.look(tensor)
        else:
            known = met.get(id(entry.held))
            glance = self._held(entry, output or 0, node) if known is None else known
        return glance if glance[VERSION] == version else at_version(glance, version)

    def _held(self, entry: SavedTensor, output: int, node: int) -> Glance:
        """Describe an output of which there is no tensor in sight."""
        array = entry.held
        number, version = self.tensors.of(array), entry.version
        storage, shape, strides, dtype, device = self._memory_of(array)
        memory = number, storage, version, shape, strides, 0, dtype, device
        glance = *memory, True, False, False, node, output, False
        if self.detailed and storage not in self.sizes:
            self._measure(storage, array)
        return glance + self._scan.look(array) if self._scan.on else glance


def _ignored(node: Node, key: int) -> None:
    """Nobody makes a picture."""


def at_version(old: Glance, version: int) -> Glance:
    """Return the glance at a tensor that was written, else as it was."""
    # A step writes all parameters: this is quicker than slices.
    number, storage, _, a, b, c, d, e, f, g, h, i, j, k = old[:_SUMMARY]
    return number, storage, version, a, b, c, d, e, f, g, h, i, j, k


def root_of(array: Any) -> Any:
    """Return the array that owns the memory of this one."""
    kind = type(array)
    while (base := getattr(array, "base", None)) is not None:
        if type(base) is not kind:  # as_strided() puts an object of NumPy's in between
            base = getattr(base, "base", None)
            if type(base) is not kind:
                break
        array = base
    return array
