"""What the pointwise families share: kinds of operands, and refusing some of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.declare import FUNCTIONS, OPS, op
from ..._dispatch.inplace import in_place
from ..._dispatch.operands import broadcast_error
from ..._dtypes import CPP_TYPE, result_type_of
from ..._dtypes import dtype as DType
from ..._graph.op import UNDERIVED as UNDERIVED_SENTENCE
from ..._graph.op import Check
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .scalar_range import in_range


def operand_of(value: Any) -> Any:
    """Return an operand as promotion sees it: (dtype, ndim), or a Python number."""
    if isinstance(value, Tensor):
        return value.dtype, value._data.ndim
    return value.item() if hasattr(value, "item") else value


def kind_of(*values: Any) -> str:
    """Return the NumPy kind ("b", "i", "u", "f", "c") that operands compute in."""
    if _are_real_floats(values):
        return "f"
    found = computed_in(*values)
    return "f" if found.is_floating_point else found.numpy.kind


def computed_in(*values: Any) -> DType:
    """Return the dtype that operands compute in; None is no operand."""
    if _are_real_floats(values):
        return values[0].dtype
    return result_type_of([operand_of(v) for v in values if v is not None])


def check_numbers(
    *values: Any, convert: Callable[[Any, DType], Any] = in_range
) -> None:
    """Refuse numbers among operands that the dtype they compute in does not hold."""
    numbers = [v for v in values if v is not None and not isinstance(v, Tensor)]
    if numbers:
        kind = computed_in(*values)
        for value in numbers:
            convert(number(value), kind)


_BESIDE_FLOATS = frozenset((float, int, bool, type(None)))


def _are_real_floats(values: tuple[Any, ...]) -> bool:
    """Tell in few steps whether the first is a float tensor, met by nothing wider."""
    if not values or not isinstance(values[0], Tensor):
        return False
    dtype = values[0]._data.dtype
    if dtype.char not in "fd":
        return False
    for value in values[1:]:
        if type(value) not in _BESIDE_FLOATS and (
            not isinstance(value, Tensor) or value._data.dtype is not dtype
        ):
            return False
    return True


def number(value: Any) -> Any:
    """Return a number argument, which may come as a 0-d tensor or NumPy scalar."""
    return value.item() if hasattr(value, "item") else value


def not_implemented(label: str, *values: Any) -> NotImplementedError:
    """Build PyTorch's error for a dtype that one of its kernels leaves out."""
    found = computed_in(*values).cpp_name
    return NotImplementedError(f"\"{label}\" not implemented for '{found}'")


def leaves_out(kinds: str, label: str, count: int = 2) -> Check:
    """Return a check that refuses operands of the dtype kinds that a kernel lacks.

    The first ``count`` arguments are operands; options follow.
    """

    def check(_name: str, *args: Any) -> None:
        operands = args[:count]
        if kind_of(*operands) in kinds:
            _check_shapes(operands)
            raise not_implemented(label, *operands)

    return check


def no_gradient_of(function: str, **places: int) -> Check:
    """Return a check that refuses to record arguments which have no derivative.

    ``places`` says where they are; ``function`` is what PyTorch calls the op.
    """

    def check(_name: str, *args: Any) -> None:
        for name, at in places.items():
            value = args[at]
            if isinstance(value, Tensor) and value.requires_grad and mode.grad:
                raise RuntimeError(
                    f"The function '{function}' is not differentiable with respect to "
                    f"argument '{name}'. This input cannot have requires_grad True."
                )

    return check


def _check_shapes(operands: tuple[Any, ...]) -> None:
    """Refuse shapes that do not broadcast, which PyTorch looks at before dtypes."""
    shapes = [each._data.shape for each in operands if isinstance(each, Tensor)]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error(*shapes) from None


def refuses(kinds: str, sentence: str, error: type[Exception] = RuntimeError) -> Check:
    """Return a check that refuses operands of some dtype kinds with a sentence."""

    def check(name: str, *args: Any) -> None:
        if kind_of(*(a for a in args if isinstance(a, Tensor))) in kinds:
            raise error(sentence.format(name=name))

    return check


def same_dtype(label: str, first: Tensor, **others: Any) -> None:
    """Refuse tensors of another dtype than the first, in PyTorch's words."""
    for name, other in others.items():
        if isinstance(other, Tensor) and other.dtype is not first.dtype:
            raise RuntimeError(
                f"expected dtype {c_name(first)} for `{name}` but got dtype "
                f"{c_name(other)}"
            )


def c_name(tensor: Tensor) -> str:
    """Return the C name of a tensor's dtype, as some sentences say it."""
    return CPP_TYPE[tensor.dtype]


POINTWISE: dict[str, Any] = {"promotion": "common", "pointwise": True, "out": True}
"""Facts of an op that works element by element and broadcasts its operands."""

OWN_DTYPE = "Found dtype {out} but expected {result}"
"""For ops whose out= must have the dtype of the result."""

HIDDEN: dict[str, Any] = {"method": False, "function": False}
"""For ops that only derivatives or other functions of ours call."""

hidden_op = functools.partial(op, **HIDDEN)
"""Declare such an op."""


def aliases(**names: str) -> None:
    """Give functions, methods and in-place methods a second name: ``new="old"``."""
    for new, old in names.items():
        if old in FUNCTIONS:
            FUNCTIONS[new] = FUNCTIONS[old]
        for mark in ("", "_"):
            if hasattr(Tensor, old + mark):
                setattr(Tensor, new + mark, getattr(Tensor, old + mark))


def is_complex(value: Any) -> bool:
    """Tell whether a formula's value, raw or a tensor, is complex."""
    array = value._data if isinstance(value, Tensor) else value
    return array.dtype.kind == "c"


def in_place_by_operand(name: str, number: str, tensor: str) -> None:
    """Install ``name_``, which takes one of two ops by what the operand is."""
    by_number, by_tensor = in_place(OPS[number]), in_place(OPS[tensor])

    def write(self: Tensor, other: Any) -> Tensor:
        return (by_tensor if isinstance(other, Tensor) else by_number)(self, other)

    write.__name__ = write.__qualname__ = f"{name}_"
    write.__doc__ = f"In-place version of {name}()."
    setattr(Tensor, f"{name}_", write)


UNDERIVED = "NotImplemented"
"""PyTorch's name for the node of an op that has no derivative."""


def underived(name: str, *tensors: str) -> dict[Any, Any]:
    """Return derivatives that refuse: an op PyTorch records without being able to."""

    def refuse(F: Any, grad: Any) -> Any:
        raise RuntimeError(UNDERIVED_SENTENCE.format(name=name))

    return dict.fromkeys(tensors, refuse)
