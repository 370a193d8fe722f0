"""Saved-tensor hooks: pack what a node saves, and unpack what a hook made of it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from .._graph.node import AccumulateGrad, Node, SavedTensor, accumulator_of
from .._modes.grad_mode import mode
from .._tensor.subclasses import dispatching
from .._tensor.tensor import Tensor, wrap_alias

PACK_WROTE: Final = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as "
    "input to pack hook cannot be modified by in-place operations as this can lead to "
    "unexpected side-effects. Please open an issue if you need to perform in-place "
    "operations on the input to a pack hook."
)

UNPACK_RETURNED: Final = (
    "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
    "{type}"
)


class Hooks(NamedTuple):
    """A pair of saved-tensor hooks.

    With ``for_node`` the pack hook is handed the node that saves as well; None where
    there is none.
    """

    pack: Callable[..., Any]
    unpack: Callable[[Any], Any]
    for_node: bool = False


KEEP_CLASS: Final = Hooks(lambda output: output.detach(), lambda kept: kept)
"""Saves an output of a class that says what its ops give: memory would lose it."""


class Packing:
    """What a pack hook made of a saved tensor, and the history that was the tensor's.

    It stands in a :class:`SavedTensor` where the record of the memory would. Its
    version is never that of a save, so the comparison of versions that every unpacking
    begins with sends it to :func:`unpack_packed`, and saving without hooks costs
    nothing.
    """

    __slots__ = ("grad_fn", "is_output", "leaf", "needs", "number", "unpack", "value")

    version: ClassVar[int] = -1

    value: Any  # what the pack hook returned
    unpack: Callable[[Any], Any]
    is_output: bool  # of the node that saves it, which is its history then
    grad_fn: Node | None
    number: int  # which output of its grad_fn it is
    needs: bool
    leaf: AccumulateGrad | None  # where gradients of a leaf go


ever_packed: list[bool] = []
"""Not empty once a hook packed something: a node that unpacks it may run user code."""


def pack_inputs(node: Node) -> None:
    """Hand the saved inputs of a new node to the innermost pack hook, if one is on."""
    entries = node.saved
    packing = mode.now.packing
    if not packing or not entries:
        return
    packed = list(entries)
    for at in node.order or range(len(entries)):
        tensor = getattr(entries[at], "tensor", None)
        if tensor is not None:
            packed[at] = pack(tensor, packing[-1], node=node)
    node.saved = tuple(packed)


def pack_outputs(node: Node, outputs: Sequence[Tensor]) -> None:
    """Hand the saved outputs of a node to the innermost pack hook, if one is on.

    To be called when the outputs have their history, which a hook may look at.
    """
    packing = mode.now.packing
    if not node.saved or not (packing or any(map(_of_own_class, outputs))):
        return
    packed = list(node.saved)
    for at, slot in enumerate(node.slots):
        if slot.startswith("result") and hasattr(packed[at], "memory"):
            output = outputs[int(slot.removeprefix("result") or 0)]
            if packing or _of_own_class(output):
                hooks = packing[-1] if packing else KEEP_CLASS
                packed[at] = pack(output, hooks, is_output=True, node=node)
    node.saved = tuple(packed)


def _of_own_class(output: Tensor) -> bool:
    return type(output) in dispatching


def pack(
    tensor: Tensor,
    hooks: Hooks,
    *,
    is_output: bool = False,
    given: Any = None,
    node: Node | None = None,
) -> SavedTensor:
    """Save what the pack hook makes of ``tensor`` in the tensor's place.

    The hook sees ``given``, by default the tensor itself. Raises RuntimeError where it
    writes to what it sees.
    """
    if not ever_packed:
        ever_packed.append(True)
    record = Packing()
    record.unpack = hooks.unpack
    record.is_output = is_output
    record.grad_fn = grad_fn = None if is_output else tensor.grad_fn
    record.number = tensor._nr
    record.needs = tensor.requires_grad
    record.leaf = None
    if record.needs and grad_fn is None and not is_output:
        record.leaf = accumulator_of(tensor)
    record.value = _call_pack(hooks, tensor if given is None else given, node)
    saved = SavedTensor()
    saved.held = _placeholder(tensor._data.shape, tensor._data.dtype)
    saved.memory = record  # type: ignore[assignment] - see Packing
    saved.version = 0
    saved.tensor = None
    return saved


def _call_pack(hooks: Hooks, tensor: Tensor, node: Node | None) -> Any:
    before = tensor._storage.version
    now = mode.now
    grad, now.grad = now.grad, False
    try:
        value = hooks.pack(tensor, node) if hooks.for_node else hooks.pack(tensor)
    finally:
        now.grad = grad
    if tensor._storage.version != before:
        raise RuntimeError(PACK_WROTE)
    return value


@lru_cache(maxsize=1024)
def _placeholder(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array of one element that looks like a whole one."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def unpack_array(record: Packing) -> Any:
    """Return the array that the unpack hook gives back."""
    return _call_unpack(record)._data


def unpack_tensor(node: Node | None, record: Packing) -> Tensor:
    """Return the tensor that the unpack hook gives back, with its old history.

    ``node`` is the one that saved it.
    """
    found = _call_unpack(record)
    grad_fn = node if record.is_output else record.grad_fn
    if record.is_output and not record.needs:
        grad_fn = None  # an output that carries no gradient, such as indices
    if grad_fn is None and not record.needs and not found.requires_grad:
        return found
    own = _of_own_class(found)
    tensor = found.detach() if own else wrap_alias(found._data, found)  # type: ignore[attr-defined]
    tensor._needs = record.needs
    if grad_fn is not None:
        tensor._grad_fn, tensor._nr = grad_fn, record.number
    elif record.leaf is not None:
        tensor.more().accumulator = weakref.ref(record.leaf)
    return tensor


def _call_unpack(record: Packing) -> Tensor:
    found = record.unpack(record.value)
    if not isinstance(found, Tensor):
        raise TypeError(UNPACK_RETURNED.format(type=type(found).__name__))
    return found
