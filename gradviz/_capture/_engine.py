"""Read gradtape's nodes and tensors into raw records, without keeping them alive."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from gradtape._node import AccumulateGrad, Node, SavedTensor
from gradtape._node_layout import Layout
from gradtape._op import Op
from gradtape._scope import Scope
from gradtape._storage import Storage
from gradtape._tensor import Tensor
from gradtape._version import __version__
from gradtape._views import CopySlices
from gradtape.autograd._custom_names import ENGINE_READERS
from gradtape.autograd._custom_node import CustomNode
from gradviz._capture._facts import (
    arguments_of,
    backward_source,
    device_of,
    formula_of,
    hooks_of,
    is_packed,
    kind_of,
    leave_as_is,
    look_at,
    saved_slots,
    storage_ids,
)
from gradviz._capture._holders import holders_in
from gradviz._capture._raw import (
    RawEdge,
    RawNode,
    RawSaved,
    RawScope,
    RawStorage,
    RawTensor,
)

PRODUCER = f"gradtape {__version__}"

ENGINE_READERS.add("gradviz")  # ctx.scope of a user's is not the node's


class EngineReader:
    """Translates engine objects, each one once, and remembers them weakly."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}  # by id(tensor), of live tensors
        self._nodes: weakref.WeakKeyDictionary[Node, RawNode] = (
            weakref.WeakKeyDictionary()
        )
        self._leaves: dict[int, tuple[weakref.ref[Tensor], RawNode]] = {}
        self._tensors: dict[int, tuple[weakref.ref[Tensor], RawTensor]] = {}
        # By the engine's storage id; kept as long as a recorded tensor refers to it.
        self._storages: weakref.WeakValueDictionary[int, RawStorage] = (
            weakref.WeakValueDictionary()
        )
        self._scopes: weakref.WeakKeyDictionary[Scope, RawScope] = (
            weakref.WeakKeyDictionary()
        )
        self._calls: dict[str, int] = {}  # of outermost modules, by name
        self.made: list[RawNode] = []  # every node read, in order of reading

    # ---- nodes ------------------------------------------------------------------

    def node(self, node: Node) -> RawNode:
        """Return the record of a node; what lies behind it is read too, iteratively."""
        found = self._find(node)
        if found is not None:
            return found
        first = self._begin(node)
        waiting = [(node, first)]
        while waiting:
            each, raw = waiting.pop()
            pairs = zip(each.nodes, each.numbers, strict=True)
            for position, (producer, number) in enumerate(pairs):
                if producer is None:
                    continue
                behind = self._find(producer)
                if behind is None:
                    behind = self._begin(producer)
                    waiting.append((producer, behind))
                if behind.kind == "accumulate" and behind.scope is None:
                    behind.scope = raw.scope  # a parameter lives with its first user
                raw.edges.append(RawEdge(behind, number, position))
        return first

    def _find(self, node: Node) -> RawNode | None:
        if not isinstance(node, AccumulateGrad):
            return self._nodes.get(node)
        known = self._leaves.get(id(node.variable))
        return known[1] if known and known[0]() is node.variable else None

    def _begin(self, node: Node) -> RawNode:
        raw = (
            self._leaf(node)
            if isinstance(node, AccumulateGrad)
            else self._op_node(node)
        )
        self.made.append(raw)
        return raw

    def _leaf(self, node: AccumulateGrad) -> RawNode:
        variable = node.variable
        tensor = self.tensor(variable)
        raw = RawNode("AccumulateGrad", "accumulate", call=tensor.name or "")
        raw.outputs = [tensor]
        raw.hooks = hooks_of(node)
        self._leaves[id(variable)] = weakref.ref(variable), raw
        return raw

    def _op_node(self, node: Node) -> RawNode:
        inner = node.inner if isinstance(node, CopySlices) else node
        op: Op | None = getattr(type(inner), "op", None)
        raw = RawNode(type(node).__name__, kind_of(node, op), call=inner.op_name)
        raw.site, raw.sequence = node.raw_site, node.seq
        raw.scope = self.scope(node.scope)
        raw.outputs = [
            self._output(layout, storage)
            for layout, storage in zip(node.layouts, storage_ids(node), strict=False)
        ]
        if op is not None:
            raw.formula = formula_of(op)
            raw.arguments = arguments_of(op, inner.params)
        elif isinstance(inner, CustomNode):
            raw.formula = backward_source(inner)
        raw.saved = self._saved(inner, raw)
        raw.hooks = hooks_of(node)
        reference = weakref.ref(inner)
        kept = bool(inner.saved)

        def is_freed() -> bool:
            alive = reference()
            return kept and (alive is None or alive.saved is None)

        raw.is_freed = is_freed
        self._nodes[node] = raw
        return raw

    def _saved(self, node: Node, raw: RawNode) -> list[RawSaved]:
        found: list[RawSaved] = []
        for slot, output, entry in saved_slots(node):
            tensor = self._saved_tensor(output, entry, raw)
            found.append(RawSaved(slot, tensor, entry.version, is_packed(entry)))
        return found

    def _saved_tensor(
        self, number: int | None, saved: SavedTensor, raw: RawNode
    ) -> RawTensor:
        if saved.tensor is not None:
            return self.tensor(saved.tensor, saved.version)
        output = None
        if number is not None and number < len(raw.outputs):
            output = raw.outputs[number]
        if is_packed(saved):  # where the values are, its hook knows
            return output or self._from_array(saved.array, None, saved.version)
        if output is not None:
            output.storage = self.storage(saved.storage)
            return output
        return self._from_array(saved.array, saved.storage, saved.version)

    # ---- tensors ------------------------------------------------------------------

    def tensor(self, tensor: Tensor, version: int | None = None) -> RawTensor:
        """Return the record of a tensor as it is now, shared while it stays so."""
        version = tensor._storage.version if version is None else version
        known = self._tensors.get(id(tensor))
        if known and known[0]() is tensor and known[1].version == version:
            return known[1]
        raw = self._from_array(tensor._data, tensor._storage, version)
        raw.offset = tensor.storage_offset()
        raw.requires_grad = tensor.requires_grad
        raw.is_leaf = tensor.is_leaf
        raw.is_view = tensor._is_view()
        raw.name = tensor.name or self.names.get(id(tensor))
        self._tensors[id(tensor)] = weakref.ref(tensor), raw
        return raw

    def prune(self) -> None:
        """Forget the tensors that are gone; the recording keeps what it needs."""
        for table in (self._tensors, self._leaves):
            for key in [key for key, (alive, _) in table.items() if alive() is None]:
                del table[key]

    def rename(self, names: Mapping[int, str]) -> None:
        """Name the tensors that are alive and have no name yet, by their ``id``."""
        for reference, raw in self._tensors.values():
            tensor = reference()
            if tensor is not None and raw.name is None:
                raw.name = names.get(id(tensor))
        for reference, raw in self._leaves.values():
            tensor = reference()
            if tensor is not None and not raw.call:
                raw.call = raw.outputs[0].name or names.get(id(tensor), "")

    def note_holders(self, frame: FrameType | None) -> None:
        """Note which names of the program hold the tensors that are alive."""
        holders = holders_in(frame, Tensor)
        for reference, raw in self._tensors.values():
            raw.holders = holders.get(id(reference()), ())
        for reference, raw in self._leaves.values():
            raw.outputs[0].holders = holders.get(id(reference()), ())

    def _from_array(
        self, array: Any, storage: Storage | None, version: int
    ) -> RawTensor:
        item = array.itemsize
        return RawTensor(
            shape=tuple(array.shape),
            strides=tuple(s // item for s in array.strides),
            offset=0,
            dtype=array.dtype.name,
            device=device_of(array),
            storage=None if storage is None else self.storage(storage),
            version=version,
        )

    def _output(self, layout: Layout, storage_id: int) -> RawTensor:
        """Describe an output from what its node remembers; the tensor may be gone."""
        item = layout.dtype.itemsize
        strides = tuple(s // item for s in layout.strides)
        return RawTensor(
            shape=layout.shape,
            strides=strides,
            offset=0,
            dtype=layout.dtype.name,
            device="cpu",
            storage=self._storages.get(storage_id)
            or self._gone(storage_id, layout, strides),
            requires_grad=True,
        )

    # ---- storages and scopes --------------------------------------------------------

    def storage(self, storage: Storage) -> RawStorage:
        """Return the record of a storage."""
        raw = self._storages.get(storage.id)
        if raw is None:
            array = storage.owner
            raw = RawStorage(0, device_of(array), array.itemsize, 0, look_at(storage))
            self._storages[storage.id] = raw
        elif raw.refresh is leave_as_is:
            raw.refresh = look_at(storage)
        raw.nbytes = storage.nbytes()
        raw.refresh(raw)
        return raw

    def _gone(
        self, storage_id: int, layout: Layout, strides: Sequence[int]
    ) -> RawStorage:
        reach = 1 + sum((n - 1) * s for n, s in zip(layout.shape, strides, strict=True))
        item = layout.dtype.itemsize
        raw = RawStorage(
            item * (0 if 0 in layout.shape else reach), "cpu", item, 0, leave_as_is
        )
        self._storages[storage_id] = raw
        return raw

    def scope(self, scope: Scope | None) -> RawScope | None:
        """Return the record of a module call and, above it, of its callers."""
        chain: list[Scope] = []
        while scope is not None and scope not in self._scopes:
            chain.append(scope)
            scope = scope.parent
        raw = None if scope is None else self._scopes[scope]
        for each in reversed(chain):
            calls = self._calls if raw is None else raw.calls
            call = calls[each.name] = calls.get(each.name, 0) + 1
            raw = self._scopes[each] = RawScope(each.name, each.kind, raw, call)
        return raw
