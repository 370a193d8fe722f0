"""CustomNode: the node of a user's Function, which is the ``ctx`` the user sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from .. import _errors
from .._apply import as_array
from .._define import tensor_ops
from .._node import Layout, Node, SavedTensor
from .._saved import SavedTensor as RawSaved
from .._saved import raw_saved
from .._tensor import Tensor, wrap, wrap_shared
from ._custom_check import checked, place
from ._custom_names import share_names

_CLEARED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True "
    "is set on the autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)


class CustomNode(Node):
    """A node whose derivative is the user's code.

    ``_takes`` has one entry per forward argument: whether it was a tensor. Only tensors
    have a next function. ``_gives`` has one layout per output, None for what was no
    tensor, and ``_silent`` the numbers of outputs without gradient. What the user saved
    is in ``saved``; ``_numbers`` says which entries are outputs, and which ones.
    """

    __slots__ = (
        "__dict__",
        "_gives",
        "_is_pure_view",
        "_kept",
        "_materialize_non_diff_grads",
        "_numbers",
        "_own",
        "_silent",
        "_takes",
        "_xp",
        "dirty_tensors",
        "materialize_grads",
        "needs_input_grad",
        "non_differentiable",
        "saved_for_forward",
        "to_save",
    )

    foreign = True
    _forward_cls: ClassVar[Any]

    _own: dict[str, Any] | None  # what the user wrote under the engine's names
    _takes: tuple[bool, ...]
    _gives: tuple[Layout | None, ...]
    _silent: frozenset[int]
    _numbers: tuple[int | None, ...]
    _kept: int  # how many entries of `saved` are the user's; -1: handed out for good
    _xp: Any
    needs_input_grad: tuple[bool, ...]
    to_save: tuple[Tensor | None, ...] | None
    saved_for_forward: tuple[Tensor | None, ...] | None
    dirty_tensors: tuple[Tensor, ...] | None
    non_differentiable: tuple[Tensor, ...] | None
    materialize_grads: bool
    _materialize_non_diff_grads: bool
    _is_pure_view: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a node that has recorded nothing yet."""
        self = object.__new__(cls)
        self._own = None
        self._takes, self._gives, self._numbers = (), (), ()
        self._silent, self._kept, self._xp = frozenset(), 0, np
        self.to_save = self.saved_for_forward = None
        self.dirty_tensors = self.non_differentiable = None
        self.materialize_grads = self._materialize_non_diff_grads = True
        self._is_pure_view = False
        for write, value in _BLANK:
            write(self, value)
        return self

    def __repr__(self) -> str:
        return object.__repr__(self)  # with the module, as PyTorch shows such nodes

    @property
    def op_name(self) -> str:  # type: ignore[override] - one per Function
        """Name of the user's class."""
        return str(self._forward_cls.__name__)

    @property
    def slots(self) -> tuple[str, ...]:  # type: ignore[override] - one per call
        """Names of what was saved: ``result0`` for an output, else its position."""
        return tuple(
            str(position) if number is None else f"result{number}"
            for position, number in enumerate(self._numbers)
        )

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """Call the user's backward on tensors and check what it returned."""
        gradients = self._arriving(F, grad)
        try:
            if self._forward_cls.boxed_grads_call:
                returned = self.apply_boxed(gradients)
            else:
                returned = self.apply(*gradients)
            found = checked(self, returned)
        except Exception as error:
            place(error, self)
            raise
        if F.raw:
            return tuple([None if g is None else g._data for g in found])
        return found

    def apply(self, *gradients: Tensor | None) -> Any:
        raise NotImplementedError

    def apply_boxed(self, *gradients: list[Tensor | None]) -> Any:
        raise NotImplementedError

    def _arriving(self, F: Any, grad: Any) -> list[Tensor | None]:
        """Return one gradient per output, with zeros for absent ones if asked for."""
        gives = self._gives
        given: Sequence[Any] = grad
        if not isinstance(grad, list):
            given = [grad] if len(gives) == 1 else [None] * len(gives)
        gradients: list[Tensor | None] = []
        for number, (each, layout) in enumerate(zip(given, gives, strict=True)):
            if each is not None:
                gradients.append(wrap(as_array(each)) if F.raw else each)
            elif layout is None or not self._fills(number):
                gradients.append(None)
            else:
                gradients.append(wrap(self._xp.zeros(layout.shape, layout.dtype)))
        return gradients

    def _fills(self, number: int) -> bool:
        """Tell whether an absent gradient of an output is handed over as zeros."""
        if number in self._silent and not self._materialize_non_diff_grads:
            return False
        return self.materialize_grads

    def free(self) -> None:
        """Let go of what was saved; the user's attributes stay, as in PyTorch."""
        self.saved = None

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` was given, checked against later writes.

        Raises RuntimeError where one was written since, or the graph was freed.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        entries = self._entries()
        found = tuple(
            [
                self._unpacked(entry, number)
                for entry, number in zip(entries, self._numbers, strict=True)
            ]
        )
        if entries and self._forward_cls.clear_saved_tensors_on_access:
            self.saved, self._kept = (None,), -1
        return found

    def maybe_clear_saved_tensors(self) -> None:
        """Do nothing: what may be read only once was let go of when it was read."""

    def _entries(self) -> tuple[SavedTensor | None, ...]:
        saved = self.saved
        if saved is None:
            raise RuntimeError(_errors.BACKWARD_TWICE)
        if self._kept < 0:
            raise RuntimeError(_CLEARED)
        return saved[: self._kept]

    def _unpacked(self, entry: SavedTensor | None, number: int | None) -> Tensor | None:
        if entry is None:
            return None
        if number is None or entry.is_stale:  # stale: written since, or packed
            found: Tensor = tensor_ops.unpack(self, entry)
            return found
        # An output was kept as bare memory, so that the node does not hold a tensor
        # that holds the node: the tensor is made anew.
        output = wrap_shared(entry.array, entry.storage)
        if number not in self._silent:
            output._grad_fn, output._nr, output._needs = self, number, True
        return output

    @property
    def _raw_saved_tensors(self) -> tuple[RawSaved, ...]:
        return tuple([raw_saved(self, at) for at in range(len(self._entries()))])


_START: dict[str, Any] = {
    "lasti": 0,
    "nodes": (),
    "numbers": (),
    "params": (),
    "saved": (),
    "seq": 0,
    "several": (),
    "storage_ids": 0,
}
_BLANK = [
    (getattr(Node, name).__set__, _START.get(name))
    for name in Node.__slots__
    if not name.startswith("__")
]
"""What a node begins with, by the slots' own setters: see _custom_names."""

share_names(CustomNode)
