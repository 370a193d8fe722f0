"""CustomNode: the node of a user's Function, which is the ``ctx`` the user sees."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..._common import messages as _errors
from ..._dispatch.declare import tensor_ops
from ..._dispatch.operands import as_array
from ..._engine.saved_attributes import SavedTensor as RawSaved
from ..._engine.saved_attributes import raw_saved
from ..._graph.node import Node, SavedTensor, new_object
from ..._graph.output_layout import Layout
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor, wrap, wrap_shared
from .attribute_names import RESERVED, is_engine, put_aside
from .backward_checks import checked, place

_CLEARED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True "
    "is set on the autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)

_get_frame = sys._getframe
_set = object.__setattr__


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
        "_numbers",
        "_takes",
        "needs_input_grad",
        "to_save",
    )

    foreign = True
    _forward_cls: ClassVar[Any]

    _takes: tuple[bool, ...]
    _gives: tuple[Layout | None, ...]
    _numbers: tuple[int | None, ...] | None  # None: handed out for good
    needs_input_grad: tuple[bool, ...] | None
    to_save: tuple[Tensor | None, ...] | None

    # What few calls have: here its usual value, on the node if it is another one.
    saved_for_forward: tuple[Tensor | None, ...] | None = None
    dirty_tensors: tuple[Tensor, ...] | None = None
    non_differentiable: tuple[Tensor, ...] | None = None
    materialize_grads: bool = True
    _materialize_non_diff_grads: bool = True
    _is_pure_view: bool = False
    _silent: frozenset[int] = frozenset()
    _own: dict[str, Any] | None = None  # what the user wrote under the engine's names
    _xp: Any = np

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a node that has recorded nothing yet."""
        node = new_object(cls)
        for write, value in BLANK:
            write(node, value)
        return node

    def __setattr__(self, name: str, value: Any) -> None:
        if name in RESERVED and not is_engine(_get_frame(1)):
            put_aside(self, name, value)
        else:
            _set(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in RESERVED and (self._own is None or name not in self._own):
            raise AttributeError(name)
        object.__delattr__(self, name)

    def __repr__(self) -> str:
        return object.__repr__(self)  # with the module, as PyTorch shows such nodes

    def name(self) -> str:
        """Return the name of the user's class with "Backward" behind it."""
        return type(self).__name__

    @property
    def op_name(self) -> str:  # type: ignore[override] - one per Function
        """Name of the user's class."""
        return str(self._forward_cls.__name__)

    @property
    def slots(self) -> tuple[str, ...]:  # type: ignore[override] - one per call
        """Names of what was saved: ``result0`` for an output, else its position."""
        return tuple(
            str(position) if number is None else f"result{number}"
            for position, number in enumerate(self._numbers or ())
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
        return tuple(found)

    def apply(self, *gradients: Tensor | None) -> Any:
        raise NotImplementedError

    def apply_boxed(self, *gradients: list[Tensor | None]) -> Any:
        raise NotImplementedError

    def _arriving(self, F: Any, grad: Any) -> list[Tensor | None]:
        """Return one gradient per output, with zeros for absent ones if asked for."""
        gives = self._gives
        given: Sequence[Any] = grad
        if type(grad) is not list:
            given = [grad] if len(gives) == 1 else [None] * len(gives)
        gradients: list[Tensor | None] = []
        for each in given:
            if each is not None:
                gradients.append(wrap(as_array(each)) if F.raw else each)
            else:
                gradients.append(self._filling(len(gradients)))
        return gradients

    def _filling(self, number: int) -> Tensor | None:
        """Return what stands for a gradient that did not arrive: zeros, or None."""
        layout = self._gives[number]
        if layout is None or not self.materialize_grads:
            return None
        if number in self._silent and not self._materialize_non_diff_grads:
            return None
        return wrap(self._xp.zeros(layout.shape, layout.dtype))

    def free(self) -> None:
        """Let go of what was saved; the user's attributes stay, as in PyTorch."""
        set_saved(self, None)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` was given, checked against later writes.

        Raises RuntimeError where one was written since, or the graph was freed.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        entries, numbers = self._entries()
        unpack, found = tensor_ops.unpack, list[Tensor | None]()
        for entry in entries[: len(numbers)]:
            found.append(None if entry is None else unpack(self, entry))
        if numbers and self._forward_cls.clear_saved_tensors_on_access:
            set_saved(self, (None,))
            self._numbers = None
        return tuple(found)

    def _entries(self) -> tuple[tuple[Any, ...], tuple[int | None, ...]]:
        saved, numbers = get_saved(self), self._numbers
        if saved is None:
            raise RuntimeError(_errors.BACKWARD_TWICE)
        if numbers is None:
            raise RuntimeError(_CLEARED)
        return saved, numbers

    def saved_output(self, entry: SavedTensor) -> Tensor:
        """Make a saved output anew: it was kept as bare memory.

        Otherwise the node would hold a tensor that holds the node.
        """
        entries, numbers = self._entries()
        number = numbers[entries.index(entry)]
        assert number is not None
        output = wrap_shared(entry.array, entry.storage)
        if number not in self._silent:
            output._grad_fn, output._nr, output._needs = self, number, True
        if mode.now.duals is not None:
            mode.now.duals.unpacked(self, number, output)
        return output

    def maybe_clear_saved_tensors(self) -> None:
        """Do nothing: what may be read only once was let go of when it was read."""

    @property
    def _raw_saved_tensors(self) -> tuple[RawSaved, ...]:
        _, numbers = self._entries()
        return tuple([raw_saved(self, at) for at in range(len(numbers))])


# The slots' own setters: quicker than telling the engine's writes from the user's.
get_saved = Node.saved.__get__  # type: ignore[attr-defined]
set_saved = Node.saved.__set__  # type: ignore[attr-defined]

_START = {
    "nodes": (),
    "numbers": (),
    "params": (),
    "saved": (),
    "scope": None,
    "seq": 0,
    "code": None,
    "lasti": 0,
    "extra": None,
    "layout": None,
    "several": (),
    "storage_ids": 0,
    "_takes": (),
    "_gives": (),
    "_numbers": (),
    "needs_input_grad": None,
    "to_save": None,
}
BLANK = [(getattr(CustomNode, name).__set__, value) for name, value in _START.items()]
"""What a node begins with."""

_SET_BY_CALL = {"scope", "seq", "code", "lasti", "_takes", "needs_input_grad"}
CALL_BLANK = [
    pair for name, pair in zip(_START, BLANK, strict=True) if name not in _SET_BY_CALL
]
"""The same for the node of a call, which fills in the rest itself."""
