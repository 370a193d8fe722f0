"""Python's operators on tensors; operands they do not know get NotImplemented."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.declare import FUNCTIONS, OPS, method, raw_ops, tensor_ops
from ..._dispatch.pointwise import OPERANDS, bind_pointwise, check_receiver
from ..._tensor.tensor import Tensor
from ..pointwise.arithmetic import abs as absolute
from ..pointwise.arithmetic import neg, positive, rsub
from ..pointwise.power import pow as power

_RAW = raw_ops(np.empty(0))

# The hottest calls there are: the operator is the op's own straight-line code.
for _name, _op in {
    "add": "add",
    "radd": "add",
    "sub": "sub",
    "mul": "mul",
    "rmul": "mul",
    "truediv": "div",
    "div": "div",
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
}.items():
    _bound = bind_pointwise(OPS[_op], getattr(_RAW, _op), operator=f"__{_name}__")
    setattr(Tensor, f"__{_name}__", _bound)


_ANY_RECEIVER = {
    f"__{name}__"
    for name in ("floordiv", "rfloordiv", "rlshift", "rmod", "rpow", "rrshift")
}
"""Operators that PyTorch writes in Python: called by name, they take numbers, too."""

_DEFERS = {f"__{name}__" for name in ("ipow", "pow", "rmatmul", "rsub")}
"""Others of those, which know nothing to do with a number."""


def _deferring(
    name: str, function: Callable[..., Any], kinds: Any = OPERANDS
) -> Callable[..., Any]:
    """Answer NotImplemented to an operand of no kind that the function takes."""

    @functools.wraps(function)
    def operator(self: Tensor, other: Any, /) -> Any:
        if name in _DEFERS and not isinstance(self, Tensor):
            return NotImplemented
        if name not in _ANY_RECEIVER:
            check_receiver(name, self)
        elif not isinstance(self, OPERANDS):
            return NotImplemented
        return function(self, other) if isinstance(other, kinds) else NotImplemented

    return operator


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


_BINARY: dict[str, Callable[..., Any]] = {
    "rsub": rsub,
    "floordiv": FUNCTIONS["floor_divide"],
    "rfloordiv": _reflected(FUNCTIONS["floor_divide"]),
    "mod": FUNCTIONS["remainder"],
    "rmod": _reflected(FUNCTIONS["remainder"]),
    "pow": power,
    "rpow": _reflected(power),
    "and": FUNCTIONS["bitwise_and"],
    "rand": FUNCTIONS["bitwise_and"],
    "or": FUNCTIONS["bitwise_or"],
    "ror": FUNCTIONS["bitwise_or"],
    "xor": FUNCTIONS["bitwise_xor"],
    "rxor": FUNCTIONS["bitwise_xor"],
    "lshift": FUNCTIONS["bitwise_left_shift"],
    "rlshift": _reflected(FUNCTIONS["bitwise_left_shift"]),
    "rshift": FUNCTIONS["bitwise_right_shift"],
    "rrshift": _reflected(FUNCTIONS["bitwise_right_shift"]),
}
_PRODUCTS: dict[str, Callable[..., Any]] = {
    "matmul": lambda self, other: tensor_ops.matmul(self, other),
    "rmatmul": lambda self, other: tensor_ops.matmul(other, self),
}
for _table, _kinds in ((_BINARY, OPERANDS), (_PRODUCTS, Tensor)):
    for _name, _function in _table.items():
        _method = f"__{_name}__"
        setattr(Tensor, _method, _deferring(_method, _function, _kinds))


@method("__rtruediv__")
@method("__rdiv__")
def _divide_by(self: Tensor, other: Any, /) -> Any:
    if not isinstance(other, (*OPERANDS, np.ndarray)):
        return NotImplemented
    return self.reciprocal() * other


for _name, _method in {
    "add": "add_",
    "sub": "sub_",
    "mul": "mul_",
    "truediv": "div_",
    "div": "div_",
    "floordiv": "floor_divide_",
    "mod": "remainder_",
    "pow": "pow_",
    "and": "bitwise_and_",
    "or": "bitwise_or_",
    "xor": "bitwise_xor_",
    "lshift": "bitwise_left_shift_",
    "rshift": "bitwise_right_shift_",
}.items():
    _bound = _deferring(f"__i{_name}__", getattr(Tensor, _method))
    setattr(Tensor, f"__i{_name}__", _bound)

method("__neg__")(neg)
method("__abs__")(absolute)
method("__pos__")(positive)


@method("__invert__")
def _invert(self: Tensor) -> Tensor:
    if self._data.dtype.kind not in "biu":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type "
            "tensors"
        )
    return self.bitwise_not()
