"""What a node saved, as its user sees it: ``_saved_self`` and ``_raw_saved_self``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .._common import messages as _errors
from .._dispatch.declare import tensor_ops
from .._graph.node import Node, save_input
from .._graph.node import SavedTensor as Record
from .._modes.grad_mode import mode
from .._saved.hooks import Hooks, Packing, pack
from .._tensor.tensor import Tensor, wrap, wrap_shared

FORBIDDEN: Final = "Trying to create a SavedTensor object from Python is forbidden."

HOOKS_TWICE: Final = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
    "only one pair of hooks is allowed at a time."
)

HOOKS_ON_FREED: Final = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved "
    "intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved variables after calling "
    "backward."
)

HOOKS_ON_NONE: Final = (
    "Calling register_hooks on a saved tensor with value None is forbidden"
)

HOOK_TYPES: Final = (
    "register_hooks(): incompatible function arguments. The following argument types "
    "are supported:\n    1. (self: torch._C._autograd.SavedTensor, arg0: "
    "collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked "
    "with: {given}"
)

DETACHED: Final = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with "
    ".detach_().This is not supported, please use out-of-place `.detach()` instead"
)


class SavedTensor:
    """One slot of a node, before it is unpacked: ``node._raw_saved_self``.

    Hooks can be registered on it, which then hold on to the value in the tensor's
    stead.

    >>> import gradtape as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t.numpy(), torch.from_numpy)
    >>> y.grad_fn._saved_self
    tensor([2.], requires_grad=True)
    """

    __slots__ = ("_alone", "_at", "_item", "_node")

    _node: Node | None
    _at: int  # which of the node's slots
    _item: int | None  # which one of a slot that holds several
    _alone: Any  # the record of a tensor that no node saved

    def __new__(cls) -> SavedTensor:
        """Refuse: nodes make them."""
        raise RuntimeError(FORBIDDEN)

    @property
    def _record(self) -> Any:
        """The engine's record; None for a slot that holds None."""
        if self._node is None:
            return self._alone
        if self._node.saved is None:
            raise RuntimeError(_errors.BACKWARD_TWICE)
        entry = self._node.saved[self._at]
        return entry if self._item is None else entry[self._item]

    @property
    def _freed(self) -> bool:
        return self._node is not None and self._node.saved is None

    @property
    def _packing(self) -> Packing | None:
        memory = getattr(self._record, "memory", None)
        return memory if type(memory) is Packing else None

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """Hand the saved tensor to ``pack_hook`` now, and get it from ``unpack_hook``.

        Takes the two hooks. Raises RuntimeError where hooks were set before, where the
        graph was freed, and where nothing was saved.
        """
        if len(hooks) != 2 or not all(callable(hook) for hook in hooks):
            given = ", ".join([repr(self), *map(repr, hooks)])
            raise TypeError(HOOK_TYPES.format(given=given))
        if self._freed:
            raise RuntimeError(HOOKS_ON_FREED)
        if self._packing is not None:
            raise RuntimeError(HOOKS_TWICE)
        record = self._record
        if record is None:
            raise RuntimeError(HOOKS_ON_NONE)
        self._replace(_packed(record, self._node, Hooks(*hooks)))

    def _replace(self, record: Record) -> None:
        node = self._node
        if node is None:
            self._alone = record
            return
        assert node.saved is not None
        entries = list(node.saved)
        if self._item is None:
            entries[self._at] = record
        else:
            items = list(entries[self._at])
            items[self._item] = record
            entries[self._at] = tuple(items)
        node.saved = tuple(entries)

    def unpack(self) -> Tensor | None:
        """Return the tensor, checked as backward would check it."""
        record = self._record
        packing = self._packing
        if record is None:
            return None
        if packing.is_output if packing is not None else record.tensor is None:
            raise RuntimeError(DETACHED)  # its history is a node that it cannot name
        return tensor_ops.unpack(self._node, record)

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what the pack hook returned; None once freed."""
        if self._freed:
            return None
        record, packing = self._record, self._packing
        if record is None or packing is not None:
            return None if packing is None else packing.value
        return _tensor_kept(record)

    @property
    def unpack_hook(self) -> Callable[[Any], Any] | None:
        """The hook that will give the tensor back; None where no hooks are set."""
        packing = None if self._freed else self._packing
        return None if packing is None else packing.unpack

    def __repr__(self) -> str:
        return f"<gradtape.autograd.SavedTensor object at {id(self):#x}>"


def raw_saved(node: Node | None, at: int, item: int | None = None) -> SavedTensor:
    """Return the handle of one slot of a node."""
    handle = object.__new__(SavedTensor)
    handle._node, handle._at, handle._item = node, at, item
    handle._alone = None
    return handle


def make_saved_tensor(tensor: Tensor, is_output: bool = False) -> SavedTensor:
    """Save a tensor outside of any node, with the hooks that are on."""
    handle = raw_saved(None, 0)
    packing = mode.now.packing
    handle._alone = (
        pack(tensor, packing[-1], is_output=is_output)
        if packing
        else save_input(tensor)
    )
    return handle


def _tensor_kept(record: Record) -> Tensor:
    if record.tensor is not None:
        return record.tensor
    return wrap_shared(record.array, record.storage)


def _packed(record: Record, node: Node | None, hooks: Hooks) -> Record:
    """Give what was saved to the pack hook, detached, and keep what it returns."""
    if record.tensor is not None:
        return pack(record.tensor, hooks, given=record.tensor.detach())
    output = tensor_ops.unpack(node, record)
    return pack(output, hooks, is_output=True, given=output.detach())


# ---- attributes of nodes -----------------------------------------------------------


def saved_attribute(node: Node, name: str) -> Any:
    """Return ``node._saved_<slot>`` or ``node._raw_saved_<slot>``.

    Raises AttributeError for a name the node does not have, RuntimeError where the
    graph was freed.
    """
    raw = name.startswith("_raw_saved_")
    slot = name.removeprefix("_raw_saved_" if raw else "_saved_")
    slot = type(node).second_names.get(slot, slot)
    if slot in node.slots:
        at = node.slots.index(slot)
        return _raw_slot(node, at) if raw else _slot(node, at)
    if not raw:
        stem, symbolic, kind = slot.partition("_sym_")
        if symbolic:
            return _size_meant(node, stem, kind)
        if slot in node.readers:
            return node.readers[slot](node)
        if slot in node.param_names:
            value = node.params[node.param_names.index(slot)]
            return value if slot in _SCALARS else _unsigned(value)
    raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")


def saved_names(node: Node) -> list[str]:
    """Return the names that :func:`saved_attribute` knows, for ``dir()``."""
    better = {slot: name for name, slot in node.second_names.items()}
    slots = [better.get(slot, slot) for slot in node.slots]
    params = [_sized(name) for name in node.param_names]
    return [
        *(f"_raw_saved_{slot}" for slot in slots),
        *(f"_saved_{slot}" for slot in (*slots, *(node.readers or params))),
    ]


def _sized(name: str) -> str:
    """Return PyTorch's name for what we call self_shape: self_sym_sizes."""
    stem, _, kind = name.rpartition("_")
    if stem and kind == "shape":
        return f"{stem}_sym_sizes{'_opt' if stem == 'bias' else ''}"
    return f"{stem}_sym_strides" if stem and kind == "strides" else name


def _raw_slot(node: Node, at: int) -> Any:
    entry = None if node.saved is None else node.saved[at]
    if isinstance(entry, list | tuple):
        return tuple(raw_saved(node, at, item) for item in range(len(entry)))
    return raw_saved(node, at)


def _slot(node: Node, at: int) -> Any:
    if node.saved is None:
        raise RuntimeError(_errors.BACKWARD_TWICE)
    entry = node.saved[at]
    if type(entry) is Record:
        return tensor_ops.unpack(node, entry)
    if type(entry) is tuple:
        return tuple(
            [
                tensor_ops.unpack(node, each) if type(each) is Record else each
                for each in entry
            ]
        )
    if isinstance(entry, bool | int | float | complex) and node.slots[at] in _OPERANDS:
        return wrap(np.asarray(entry))  # PyTorch wraps the numbers of arithmetic
    return entry


_OPERANDS = ("self", "other")

_SCALARS = frozenset(
    (
        "alpha",
        "beta",
        "correction",
        "exponent",
        "input_scale",
        "lambd",
        "max",
        "max_val",
        "min",
        "min_val",
        "negative_slope",
        "ord",
        "p",
        "scale",
        "threshold",
        "value",
        "weight",
    )
)
"""Options that PyTorch keeps as numbers of any kind; the others are its integers."""


def _unsigned(value: Any) -> Any:
    """Return integers as PyTorch reads them back, without a sign: -1 is 2**64 - 1."""
    if type(value) is int:
        return value % 2**64
    if type(value) is tuple and all(type(each) is int for each in value):
        return tuple(each % 2**64 for each in value)
    return value


def _size_meant(node: Node, stem: str, kind: str) -> Any:
    """Return a size under PyTorch's name: self_sym_sizes, weight_sym_argsize_0…"""
    if kind == "strides":
        return saved_attribute(node, f"_saved_{stem}_strides")
    if f"{stem}_shape" in node.param_names:
        shape = saved_attribute(node, f"_saved_{stem}_shape")
    else:  # of what was saved itself: S_sym_argsize_minus_1
        shape = saved_attribute(node, f"_saved_{stem}").shape
    if kind == "numel":
        return math.prod(shape)
    if kind == "sizes_opt":
        return shape or (0,)  # how PyTorch writes "no tensor"
    _, one, place = kind.partition("argsize_")
    return shape[int(place.replace("minus_", "-"))] if one else shape
