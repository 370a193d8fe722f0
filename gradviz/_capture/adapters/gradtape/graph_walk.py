"""Read gradtape's nodes and tensors into raw records, without keeping them alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from gradtape import __version__
from gradtape._debug import (
    ENGINE_READERS,
    AccumulateGrad,
    CopySlices,
    CustomNode,
    Layout,
    Node,
    Op,
    SavedTensor,
    Scope,
    Storage,
    Tensor,
    element_strides,
)
from gradviz._capture.adapters.gradtape.op_facts import (
    arguments_of,
    backward_source,
    device_behind,
    device_of,
    formula_of,
    hooks_of,
    is_freed,
    is_packed,
    kind_of,
    look_at,
    name_of,
    saved_slots,
    shown_name,
    storage_ids,
)
from gradviz._capture.names.holders import holders_in
from gradviz._capture.names.weak_records import Known
from gradviz._capture.recorder.fold import Folded
from gradviz._capture.recorder.raw import (
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
        self.made: list[RawNode] = []  # every node read, in order of reading
        self._nodes: Known[Node, RawNode] = Known()
        self._leaves: Known[Tensor, RawNode] = Known()
        self._tensors: Known[Tensor, RawTensor] = Known()
        self._storages: dict[int, RawStorage] = {}  # by the engine's storage id
        self._memories: dict[int, weakref.ref[Storage]] = {}  # of those that live
        self._scopes: Known[Scope, RawScope] = Known()
        self._calls: dict[str, int] = {}  # of outermost modules, by name
        self._steps = 0

    # ---- nodes ------------------------------------------------------------------

    def node(self, node: Node, outputs: Sequence[RawTensor] = ()) -> RawNode:
        """Return the record of a node; what lies behind it is read too, iteratively.

        ``outputs`` are the first ones, where they are known already.
        """
        found = self.find(node)
        if found is not None:
            return found
        first = self._begin(node, outputs)
        waiting = [(node, first)]
        while waiting:
            each, raw = waiting.pop()
            behind: list[RawNode | None] = []
            for producer in each.nodes:
                known = None if producer is None else self.find(producer)
                if known is None and producer is not None:
                    known = self._begin(producer)
                    waiting.append((producer, known))
                behind.append(known)
                if known is not None and known.kind == "accumulate":
                    known.scope = known.scope or raw.scope  # with its first user
            raw.behind, raw.numbers = tuple(behind), each.numbers
        return first

    def folded(self, found: Folded[Node]) -> None:
        """Read the rows of a graph that is too large to be read whole."""
        made = [self.find(node) or self._begin(node) for node in found.rows]
        for row, (raw, behind) in enumerate(zip(made, found.behind, strict=True)):
            raw.count = found.counts.get(row, 1)
            raw.behind = tuple([None if at is None else made[at[0]] for at in behind])
            raw.numbers = tuple([0 if at is None else at[1] for at in behind])
            for known in raw.behind:
                if known is not None and known.kind == "accumulate":
                    known.scope = known.scope or raw.scope  # with its first user

    def find(self, node: Node) -> RawNode | None:
        """Return the record of a node that was read."""
        found = self._nodes.get(node)
        if found is None and isinstance(node, AccumulateGrad):
            found = self._leaves.get(node.variable)
            if found is not None:  # the leaf got another one
                self._nodes.add(node, found)
        return found

    def _begin(self, node: Node, outputs: Sequence[RawTensor] = ()) -> RawNode:
        raw = (
            self._leaf(node)
            if isinstance(node, AccumulateGrad)
            else self._op_node(node, outputs)
        )
        self._nodes.add(node, raw)
        self.made.append(raw)
        return raw

    def _leaf(self, node: AccumulateGrad) -> RawNode:
        tensor = self.tensor(node.variable)
        raw = RawNode("AccumulateGrad", "accumulate", tensor.name or "")
        raw.outputs = (tensor,)
        self._leaves.add(node.variable, raw)
        return raw

    def _op_node(self, node: Node, outputs: Sequence[RawTensor]) -> RawNode:
        inner = node.inner if isinstance(node, CopySlices) else node
        op: Op | None = getattr(type(inner), "op", None)
        raw = RawNode(type(node).__name__, kind_of(node, op), shown_name(inner.op_name))
        raw.site, raw.sequence = node.raw_site, node.seq
        raw.scope = None if node.scope is None else self.scope(node.scope)
        if op is not None:
            raw.formula = formula_of(op)
            raw.arguments = arguments_of(op, inner.params)
        elif isinstance(inner, CustomNode):
            raw.formula = backward_source(inner)
        raw.keeps = bool(inner.saved)
        raw.outputs = outputs
        if raw.keeps or len(outputs) < len(node.layouts):
            pairs = zip(node.layouts, storage_ids(node), strict=False)
            device = device_behind(inner)
            made = [self._output(layout, at, device) for layout, at in pairs]
            raw.outputs = (*outputs, *made[len(outputs) :])
            raw.saved = self._saved(inner, made)
        return raw

    def look_again(self, nodes: Iterable[RawNode]) -> None:
        """Bring up to date what changes of these nodes and of memory."""
        for raw in nodes:
            raw.freed = raw.keeps  # as one that is gone
        for node, raw in self._nodes.alive():
            raw.freed, raw.hooks = raw.keeps and is_freed(node), hooks_of(node)
        for key, memory in self._memories.items():
            if (storage := memory()) is not None:
                look_at(storage, self._storages[key])

    def _saved(self, inner: Node, outputs: Sequence[RawTensor]) -> tuple[RawSaved, ...]:
        found: list[RawSaved] = []
        for slot, number, entry in saved_slots(inner):
            made = None if number is None else next(iter(outputs[number:]), None)
            tensor = self._saved_tensor(entry, made)
            found.append(RawSaved(slot, tensor, entry.version, is_packed(entry)))
        return tuple(found)

    def _saved_tensor(self, saved: SavedTensor, output: RawTensor | None) -> RawTensor:
        if saved.tensor is not None:
            return self.tensor(saved.tensor, saved.version)
        if is_packed(saved):  # where the values are, its hook knows
            return output or self._from_array(saved.array, None, saved.version)
        if output is not None:
            output.storage = self.storage(saved.storage)
            return output
        return self._from_array(saved.array, saved.storage, saved.version)

    # ---- tensors ------------------------------------------------------------------

    def tensor(self, tensor: Tensor, version: int | None = None) -> RawTensor:
        """Return the record of a tensor as it is now, shared while it stays so."""
        if version is None:
            storage = tensor._storage
            version = 0 if storage.inference else storage.version
        known = self._tensors.get(tensor)
        if known is not None and known.version == version:
            return known
        raw = self._from_array(tensor._data, tensor._storage, version)
        raw.offset = tensor.storage_offset()
        raw.requires_grad = tensor.requires_grad
        raw.is_leaf = _is_leaf(tensor)
        raw.is_view = tensor._is_view()
        raw.name = tensor.name or self.names.get(id(tensor))
        self._tensors.add(tensor, raw)
        return raw

    def end_step(self, kept: int) -> None:
        """Forget what is gone, and memory that no one of ``kept`` steps can name."""
        for table in (self._nodes, self._leaves, self._tensors, self._scopes):
            table.forget_dead()
        self._steps += 1
        oldest = self._steps - kept
        for key, raw in list(self._storages.items()):
            memory = self._memories.get(key)
            if memory is not None and memory() is not None:
                raw.seen = self._steps
                continue
            self._memories.pop(key, None)
            if raw.seen < oldest:
                del self._storages[key]

    def rename(self, names: Mapping[int, str]) -> None:
        """Name the tensors that are alive and have no name yet, by their ``id``."""
        for tensor, raw in self._tensors.alive():
            if raw.name is None:
                raw.name = names.get(id(tensor))
        for tensor, raw in self._leaves.alive():
            raw.call = raw.call or raw.outputs[0].name or names.get(id(tensor), "")

    def note_holders(self, frame: FrameType | None) -> None:
        """Note which names of the program hold the tensors that are alive."""
        holders = holders_in(frame, Tensor)
        for tensor, raw in self._tensors.alive():
            raw.holders = holders.get(id(tensor), ())
        for tensor, raw in self._leaves.alive():
            raw.outputs[0].holders = holders.get(id(tensor), ())

    def _from_array(
        self, array: Any, storage: Storage | None, version: int
    ) -> RawTensor:
        return RawTensor(
            array.shape,
            element_strides(array),
            0,
            name_of(array.dtype),
            device_of(array),
            None if storage is None else self.storage(storage),
            version,
        )

    def _output(self, layout: Layout, storage_id: int, device: str) -> RawTensor:
        """Describe an output from what its node remembers; the tensor may be gone."""
        item = layout.dtype.itemsize
        strides = tuple(s // item for s in layout.strides)
        memory = self._storage_of(storage_id, layout, device)
        return RawTensor(
            shape=layout.shape,
            strides=strides,
            offset=0,
            dtype=name_of(layout.dtype),
            device=memory.device if storage_id else device,
            storage=memory,
            requires_grad=True,
        )

    # ---- storages and scopes --------------------------------------------------------

    def storage(self, storage: Storage) -> RawStorage:
        """Return the record of a storage."""
        key = storage.id
        raw = self._storages.get(key)
        if raw is None:
            array = storage.owner
            raw = RawStorage(0, device_of(array), array.itemsize)
            self._storages[key] = raw
        if key not in self._memories:
            self._memories[key] = weakref.ref(storage)
        raw.seen = self._steps
        raw.nbytes = storage.nbytes()
        look_at(storage, raw)
        return raw

    def _storage_of(self, key: int, layout: Layout, device: str) -> RawStorage:
        """Return the record of memory that may be gone."""
        raw = self._storages.get(key)
        if raw is None:
            item = layout.dtype.itemsize
            pairs = zip(layout.shape, layout.strides, strict=True)
            reach = item + sum((n - 1) * stride for n, stride in pairs)
            raw = RawStorage(0 if 0 in layout.shape else reach, device, item)
            self._storages[key] = raw
        raw.seen = self._steps
        return raw

    def scope(self, scope: Scope | None) -> RawScope | None:
        """Return the record of a module call and, above it, of its callers."""
        chain: list[Scope] = []
        raw = None
        while scope is not None and (raw := self._scopes.get(scope)) is None:
            chain.append(scope)
            scope = scope.parent
        for each in reversed(chain):
            calls = self._calls if raw is None else raw.calls
            call = calls[each.name] = calls.get(each.name, 0) + 1
            raw = RawScope(each.name, each.kind, raw, call)
            self._scopes.add(each, raw)
        return raw


def _is_leaf(tensor: Tensor) -> bool:
    """Tell whether no op made a tensor; of a view that a write made stale, its base.

    The view itself would take its new history when asked, or refuse to answer.
    """
    view = tensor._view
    if view is None or view.base is None or view.version == tensor._storage.version:
        return tensor._grad_fn is None
    return view.base._grad_fn is None
