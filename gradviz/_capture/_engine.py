"""Read gradtape's nodes and tensors into raw records, without keeping them alive."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from gradtape._define import OPS
from gradtape._node import AccumulateGrad, Layout, Node, SavedTensor
from gradtape._op import Op, formula_text
from gradtape._scope import Scope
from gradtape._storage import Storage
from gradtape._tensor import Tensor
from gradtape._version import __version__
from gradtape._views import CopySlices
from gradviz._capture._raw import (
    RawEdge,
    RawNode,
    RawSaved,
    RawScope,
    RawStorage,
    RawTensor,
    RawWrite,
)

PRODUCER = f"gradtape {__version__}"
_LONGEST_ARGUMENT = 80


class EngineReader:
    """Translates engine objects, each one once, and remembers them weakly."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}  # by id(tensor), of live tensors
        self._nodes: weakref.WeakKeyDictionary[Node, RawNode] = (
            weakref.WeakKeyDictionary()
        )
        self._leaves: dict[int, tuple[weakref.ref[Tensor], RawNode]] = {}
        self._tensors: dict[int, tuple[weakref.ref[Tensor], RawTensor]] = {}
        self._storages: dict[int, RawStorage] = {}  # by the engine's storage id
        self._scopes: weakref.WeakKeyDictionary[Scope, RawScope] = (
            weakref.WeakKeyDictionary()
        )
        self._calls: dict[tuple[int, str], int] = {}
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
        raw.hooks = _hooks_of(node)
        self._leaves[id(variable)] = weakref.ref(variable), raw
        return raw

    def _op_node(self, node: Node) -> RawNode:
        inner = node.inner if isinstance(node, CopySlices) else node
        op: Op | None = getattr(type(inner), "op", None)
        raw = RawNode(node.name(), _kind_of(node, op), call=inner.op_name)
        raw.site, raw.sequence = node.raw_site, node.seq
        raw.scope = self.scope(node.scope)
        raw.outputs = [
            self._output(layout, storage)
            for layout, storage in zip(node.layouts, _storage_ids(node), strict=False)
        ]
        if op is not None:
            raw.formula = _formula_of(op)
            raw.arguments = _arguments_of(op, inner.params)
            raw.saved = self._saved(inner, op, raw)
        raw.hooks = _hooks_of(node)
        reference = weakref.ref(inner)
        kept = bool(inner.saved)

        def is_freed() -> bool:
            alive = reference()
            return kept and (alive is None or alive.saved is None)

        raw.is_freed = is_freed
        self._nodes[node] = raw
        return raw

    def _saved(self, node: Node, op: Op, raw: RawNode) -> list[RawSaved]:
        found: list[RawSaved] = []
        entries: tuple[Any, ...] = node.saved or ()
        for slot, entry in zip(op.saves, entries, strict=False):
            if isinstance(entry, SavedTensor):
                tensor = self._saved_tensor(slot, entry, raw)
                found.append(RawSaved(f"_saved_{slot}", tensor, entry.version))
        return found

    def _saved_tensor(self, slot: str, saved: SavedTensor, raw: RawNode) -> RawTensor:
        if saved.tensor is not None:
            return self.tensor(saved.tensor, saved.version)
        number = int(slot.removeprefix("result") or 0)
        output = raw.outputs[number] if number < len(raw.outputs) else None
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

    def rename(self) -> None:
        """Give the tensors that are alive the names known by now."""
        for reference, raw in self._tensors.values():
            tensor = reference()
            if tensor is not None and raw.name is None:
                raw.name = self.names.get(id(tensor))
        for reference, raw in self._leaves.values():
            tensor = reference()
            if tensor is not None and not raw.call:
                raw.call = raw.outputs[0].name or self.names.get(id(tensor), "")

    def _from_array(self, array: Any, storage: Storage, version: int) -> RawTensor:
        item = array.itemsize
        return RawTensor(
            shape=tuple(array.shape),
            strides=tuple(s // item for s in array.strides),
            offset=0,
            dtype=array.dtype.name,
            device=_device_of(array),
            storage=self.storage(storage),
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
            raw = RawStorage(0, _device_of(array), array.itemsize, 0, _look_at(storage))
            self._storages[storage.id] = raw
        elif raw.refresh is _nothing:
            raw.refresh = _look_at(storage)
        raw.nbytes = storage.nbytes()
        raw.refresh(raw)
        return raw

    def _gone(
        self, storage_id: int, layout: Layout, strides: Sequence[int]
    ) -> RawStorage:
        reach = 1 + sum((n - 1) * s for n, s in zip(layout.shape, strides, strict=True))
        item = layout.dtype.itemsize
        raw = RawStorage(
            item * (0 if 0 in layout.shape else reach), "cpu", item, 0, _nothing
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
            key = (id(raw), each.name)
            call = self._calls[key] = self._calls.get(key, 0) + 1
            raw = self._scopes[each] = RawScope(each.name, each.kind, raw, call)
        return raw


# ---- reading single facts ------------------------------------------------------------


def tensors_in(values: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among arguments, those in lists and tuples included."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += [each for each in value if isinstance(each, Tensor)]
    return found


def _nothing(_raw: RawStorage) -> None:
    """Leave the record of a storage that is gone as it is."""


def _look_at(storage: Storage) -> Any:
    reference = weakref.ref(storage)

    def refresh(raw: RawStorage) -> None:
        alive = reference()
        if alive is None or raw.version == alive.version != 0:
            return
        raw.version = alive.version
        writers = {write.version: write.node for write in raw.writes}
        raw.writes = [
            RawWrite(w.version, w.op, w.site, writers.get(w.version))
            for w in alive.writes
        ]

    return refresh


def _storage_ids(node: Node) -> tuple[int, ...]:
    ids = node.storage_ids
    return ids if isinstance(ids, tuple) else (ids,)


def _device_of(array: Any) -> str:
    device = getattr(array, "device", "cpu")
    return "cpu" if isinstance(device, str) else f"cuda:{device.id}"


def _kind_of(node: Node, op: Op | None) -> Any:
    if isinstance(node, CopySlices):
        return "inplace"
    if op is None:
        return "custom"
    return "op" if op.view is None else "view"


def _hooks_of(node: Node) -> Any:
    reference = weakref.ref(node)

    def hooks() -> tuple[str, ...]:
        alive = reference()
        if alive is None:
            return ()
        tables: list[Any] = []
        if alive.extra is not None:
            extra = alive.extra
            tables += [extra.pre_hooks, extra.post_hooks, *extra.tensor_hooks.values()]
        if isinstance(alive, AccumulateGrad) and alive.variable._extra is not None:
            more = alive.variable._extra
            tables += [more.hooks or {}, more.post_accumulate or {}]
        return tuple(
            getattr(hook, "__qualname__", type(hook).__name__)
            for table in tables
            for hook in table.values()
        )

    return hooks


def _arguments_of(op: Op, params: Sequence[Any]) -> tuple[str, ...]:
    shown = zip(op.options, params, strict=False)
    return tuple(f"{name}={_short(value)}" for name, value in shown)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_ARGUMENT else text[:_LONGEST_ARGUMENT] + "…"


@cache
def _formulas_by_key(key: str) -> str:
    op = OPS[key]
    lines: list[str] = []
    for formula in op.formulas:
        target = ", ".join(op.tensors[i] for i in formula.inputs)
        text = inspect.cleandoc(formula_text(formula))
        lines.append(f"{target}: {text}")
    return "\n".join(lines)


def _formula_of(op: Op) -> str:
    return _formulas_by_key(op.key)
