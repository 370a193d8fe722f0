"""Tensors and nodes of gradtape as records of the program log.

Nothing here keeps a tensor, an array or a node alive. A node's key is its sequence
number, which no other node has; the node that accumulates into a leaf has the number of
that leaf, negated, since the engine makes such nodes anew.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradtape._node import AccumulateGrad, Node, SavedTensor
from gradtape._tensor import Tensor
from gradtape.nn.parameter import Parameter
from gradviz._capture._facts import device_of, is_packed, saved_slots
from gradviz._capture._gradtape_log_scan import Scan
from gradviz.program.log import Identities
from gradviz.program.records import Program
from gradviz.program.values import Node as NodeRow
from gradviz.program.values import Saved, Value


class Reader:
    """Describes tensors and nodes, each one once while it stays as it is."""

    def __init__(self, program: Program, tensors: Identities, scan: Scan) -> None:
        self.program = program
        self.call: int | None = None  # the event that makes what is read now
        self.module: int | None = None
        self._scan = scan
        self._tensors = tensors
        self._storages = Identities()
        self._known: dict[int, tuple[weakref.ref[Tensor], Value, int]] = {}

    # ---- tensors --------------------------------------------------------------------

    def value(self, tensor: Tensor) -> Value:
        """Describe a tensor as it is now, and add the rows of the nodes behind it."""
        value = self._look(tensor)
        if value.node is not None and value.node not in self.program.nodes:
            assert tensor._grad_fn is not None
            self.read(tensor._grad_fn, (tensor,))
        return value

    def storage(self, array: Any) -> int:
        """Return the number of the memory that an array looks into."""
        return self._storages.of(root_of(array))

    def _look(self, tensor: Tensor) -> Value:
        known = self._known.get(id(tensor))
        version, needs = version_of(tensor), tensor.requires_grad
        node = tensor._grad_fn  # of a view, perhaps not what it will be when asked for
        key = None if node is None else self.key(node)
        at = id(tensor._data)  # another one once the tensor was given other memory
        if known is not None and known[0]() is tensor and known[2] == at:
            value = known[1]
            if (value.version, value.node, value.requires_grad) == (
                version,
                key,
                needs,
            ):
                return value
        value = self._described(tensor._data, version, self._tensors.of(tensor))
        value.offset = tensor.storage_offset()
        value.requires_grad, value.is_leaf = needs, node is None
        value.is_view = tensor._is_view()
        value.node, value.output = key, tensor._nr
        value.is_parameter = isinstance(tensor, Parameter)
        self._known[id(tensor)] = self._weakly(tensor), value, at
        return value

    def _weakly(self, tensor: Tensor) -> weakref.ref[Tensor]:
        key, known = id(tensor), self._known

        def forget(gone: weakref.ref[Tensor]) -> None:
            if key in known and known[key][0] is gone:
                del known[key]

        return weakref.ref(tensor, forget)

    def _described(self, array: Any, version: int, number: int) -> Value:
        item = array.itemsize
        value = Value(
            tensor=number,
            storage=self.storage(array),
            version=version,
            shape=tuple(array.shape),
            strides=tuple([s // item for s in getattr(array, "strides", ())]),
            offset=0,
            dtype=array.dtype.name,
            device=device_of(array),
        )
        if self._scan.on:
            value.summary, value.text = self._scan.look(array)
        return value

    # ---- nodes ----------------------------------------------------------------------

    def key(self, node: Node) -> int:
        """Return the key of a node's row."""
        if isinstance(node, AccumulateGrad):
            return -self._tensors.of(node.variable)
        return node.seq + 1

    def read_from(self, outputs: Sequence[Tensor]) -> None:
        """Add the rows of the nodes that made the outputs of one call."""
        for tensor in outputs:
            node = tensor._grad_fn
            if node is not None and self.key(node) not in self.program.nodes:
                self.read(node, outputs)

    def read(self, node: Node, outputs: Sequence[Tensor] = ()) -> None:
        """Add the rows of a node and of all behind it that have none yet."""
        nodes = self.program.nodes
        met = {id(tensor._data): self._look(tensor) for tensor in outputs}
        waiting = [node]
        while waiting:
            node = waiting.pop()
            key = self.key(node)
            if key in nodes:
                continue
            row = nodes[key] = NodeRow(key, type(node).__name__)
            if isinstance(node, AccumulateGrad):
                row.leaf, row.shape = -key, tuple(node.variable._data.shape)
                continue
            self._fill(row, node, met)
            waiting += [each for each in node.nodes if each is not None]

    def _fill(self, row: NodeRow, node: Node, met: dict[int, Value]) -> None:
        edges = zip(node.nodes, node.numbers, strict=True)
        row.next = tuple(
            [
                None if each is None or each.dead else (self.key(each), number)
                for each, number in edges
            ]
        )
        row.call, row.module, row.site = self.call, self.module, node.raw_site
        row.sequence = node.seq
        layouts = node.layouts
        row.shape = tuple(layouts[0].shape) if layouts and layouts[0] else None
        row.saved = tuple(
            [
                Saved(slot, self._saved(entry, number, row.key, met))
                for slot, number, entry in slots_of(node)
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
            value = met[id(tensor._data)] = self._look(tensor)
        else:
            known = met.get(id(entry.held))
            if known is None:
                number = self._tensors.of(entry.held)
                known = self._described(entry.held, version, number)
                known.requires_grad, known.is_leaf = True, False
                known.node, known.output = node, output or 0
            value = known
        return value if value.version == version else replace(value, version=version)


def slots_of(node: Node) -> list[tuple[str, int | None, SavedTensor]]:
    """Return what a node saved as tensors that a pass will find.

    Slot, which output it is if it is one, and the engine's record.
    """
    inner = getattr(node, "inner", node)  # CopySlices: the write that it stands for
    return [each for each in saved_slots(inner) if not is_packed(each[2])]


def root_of(array: Any) -> Any:
    """Return the array that owns the memory of this one."""
    kind = type(array) if type(array) is not np.ndarray else np.ndarray
    while isinstance(base := getattr(array, "base", None), kind):
        array = base
    return array


def version_of(tensor: Tensor) -> int:
    """Return how often the memory was written; inference tensors do not count."""
    memory = tensor._memory
    return 0 if memory is None or memory.inference else memory.version
