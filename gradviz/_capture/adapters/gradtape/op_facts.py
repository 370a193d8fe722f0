"""Single facts read off engine objects: their kind, device, arguments, formula."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradtape._debug import (
    OPS,
    WRITE_LOG_LENGTH,
    AccumulateGrad,
    CopySlices,
    CustomNode,
    Node,
    Op,
    Packing,
    SavedTensor,
    Storage,
    Tensor,
    formula_text,
)
from gradtape._debug import device_of as where
from gradviz import ir
from gradviz._capture.names.hooks import Hook, hooks_in
from gradviz._capture.names.tensors import op_name
from gradviz._capture.recorder.raw import RawStorage, RawWrite

_LONGEST_ARGUMENT = 80
_FAR = 16  # nodes that are passed on the way to one that knows its device


def tensors_in(values: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among arguments, those in lists and tuples included."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += [each for each in value if isinstance(each, Tensor)]
    return found


@cache
def shown_name(op: str) -> str:
    """Return the name a reader knows an op by: PyTorch's, where ours is private.

    >>> shown_name("mul_"), shown_name("_to_copy"), shown_name("_pool_gather")
    ('mul_', 'to_copy', 'pool_gather')
    """
    if not op.startswith("_"):
        return op
    found = [each.node_name for each in OPS.values() if each.name == op]
    return op_name(found[0]) if "Backward" in "".join(found) else op.lstrip("_")


def look_at(storage: Storage, raw: RawStorage) -> None:
    """Bring the record of memory up to date: its version, and who wrote to it."""
    version = 0 if storage.inference else storage.version
    if raw.version == version:
        return
    raw.version = version
    latest = raw.writes[-1].version if raw.writes else 0
    for write in storage.writes:
        if write.version > latest:
            found = RawWrite(write.version, write.op, write.site)
            raw.wrote(found, WRITE_LOG_LENGTH)


def storage_ids(node: Node) -> tuple[int, ...]:
    """Return the storage id of each output."""
    ids = node.storage_ids
    return ids if isinstance(ids, tuple) else (ids,)


def device_of(array: Any) -> str:
    """Return the device of an array, as PyTorch writes it."""
    return "cpu" if isinstance(array, np.ndarray | np.generic) else str(where(array))


def device_behind(node: Node) -> str:
    """Return the device that a node computes on, by what it or those behind it hold."""
    following: Node | None = node
    for _ in range(_FAR):
        if following is None:
            break
        if isinstance(following, AccumulateGrad):
            return device_of(following.variable._data)
        for _, _, saved in saved_slots(following):
            if not is_packed(saved):
                return device_of(saved.array)
        following = next((each for each in following.nodes if each is not None), None)
    return "cpu"


@cache
def name_of(dtype: Any) -> str:
    """Return the name of an array's dtype, which NumPy works out each time."""
    return dtype.name


def kind_of(node: Node, op: Op | None) -> ir.NodeKind:
    """Say what sort of node this is."""
    if isinstance(node, CopySlices):
        return "inplace"
    if op is None:
        return "custom"
    return "op" if op.view is None else "view"


def hooks_of(node: Node) -> tuple[Hook, ...]:
    """Return the hooks that are on a node now."""
    tables: list[Any] = []
    if node.extra is not None:
        extra = node.extra
        tables += [extra.pre_hooks, extra.post_hooks, *extra.tensor_hooks.values()]
    if isinstance(node, AccumulateGrad) and node.variable._extra is not None:
        more = node.variable._extra
        tables += [more.hooks or {}, more.post_accumulate or {}]
    return hooks_in(*tables) if tables else ()


def is_freed(node: Node) -> bool:
    """Tell whether a node has let go of what it saved."""
    inner = node.inner if isinstance(node, CopySlices) else node
    return inner.saved is None


def saved_slots(node: Node) -> Iterator[tuple[str, int | None, SavedTensor]]:
    """Yield what a node saved: PyTorch's name of the slot, which output, the record.

    The output is None for what was an input, or a tensor that a user's Function made.
    """
    custom = isinstance(node, CustomNode)
    for at, (slot, entry) in enumerate(zip(node.slots, node.saved or (), strict=False)):
        name = f"saved_tensors[{at}]" if custom else f"_saved_{slot}"
        number = None
        if slot.startswith("result"):
            number = int(slot.removeprefix("result") or 0)
        if isinstance(entry, SavedTensor):
            yield name, number, entry
        elif isinstance(entry, list | tuple):
            for position, each in enumerate(entry):
                if isinstance(each, SavedTensor):
                    yield f"{name}[{position}]", number, each


def is_packed(saved: SavedTensor) -> bool:
    """Whether a saved-tensors hook holds on to the value in the node's stead."""
    memory: Any = saved.memory
    return type(memory) is Packing


def backward_source(node: CustomNode) -> str:
    """Return the text of a user's ``backward``; "" where it is lost."""
    try:
        text = inspect.getsource(type(node)._forward_cls.backward)
    except (OSError, TypeError):
        return ""
    return textwrap.dedent(text).strip()


def arguments_of(op: Op, params: Sequence[Any]) -> tuple[str, ...]:
    """Write the non-tensor arguments of a call, name=value."""
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
        lines.append(f"{target}: {formula_text(formula)}")
    return "\n".join(lines)


def formula_of(op: Op) -> str:
    """Write the derivatives of an op, one input a line."""
    return _formulas_by_key(op.key)
