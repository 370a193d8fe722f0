"""``out=``: compute an op into memory the caller gives."""

from __future__ import annotations

import warnings
from typing import Any

from .._common import messages as _errors
from .._common.messages import shape_text
from .._common.site import caller_site, user_stacklevel
from .._common.type_name import type_name
from .._dtypes import CPP_TYPE, DTYPE_OF, bool_, can_cast, uint8
from .._graph.op import Op
from .._modes.grad_mode import mode
from .._tensor.overlap import check_apart, check_overlap, check_partial_overlap
from .._tensor.tensor import Tensor
from .._tensor.write_observers import after_write, before_write
from .apply import apply
from .out_checks import refusal


class Outputs(tuple[Any, ...]):
    """The tensors of ``out=``, which hold the results of a call."""

    __slots__ = ()


_NO_TANGENT = (
    "Trying to use forward AD with {name}_out that does not support it because it is "
    "an out= function"
)
CASTABLE = (
    "{name}: Expected {slot} to be safely castable from {result} dtype, but got {slot} "
    "with dtype {out}"
)
_RESIZED = (
    "An output with one or more elements was resized since it had shape {old}, which "
    "does not match the required output shape {new}. This behavior is deprecated, and "
    "in a future PyTorch release outputs will not be resized unless they have zero "
    "elements. You can explicitly reuse an out tensor t by resizing it, inplace, to "
    "zero elements with t.resize_(0)."
)


def write_out(op: Op, args: tuple[Any, ...], options: tuple[Any, ...], out: Any) -> Any:
    """Run ``op`` and store its result, or results, in ``out``, which is returned.

    Raises RuntimeError where a gradient would be lost or the dtype does not fit.
    """
    targets: tuple[Any, ...] = (out,) if op.outputs == 1 else tuple(out)
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(
                f"{op.name}(): argument 'out' must be Tensor, not {type_name(target)}"
            )
    given = _flat(args)
    tensors = [t for t in (*given, *targets) if isinstance(t, Tensor)]
    if mode.now.watch is not None:
        mode.now.watch.check_fallback(f"{op.name}.out", tensors)
    if mode.grad and op.edges and any(t.requires_grad for t in tensors):
        raise refusal(op.name)
    if mode.now.duals is not None and mode.now.duals.any_dual(tensors):
        raise NotImplementedError(_NO_TANGENT.format(name=op.name))
    if op.pointwise and op.outputs == 1:
        check_partial_overlap(op, out, args)
    elif op.name in _APART:
        for target in targets:
            check_overlap(target, op.name)
            check_apart(target, tuple(given))
    results = _uncast(op, args, options)
    if op.outputs == 1:
        store(out, results._data, op)
        return out
    slots = op.output_names or ("result",) * len(targets)
    for target, result, slot in zip(targets, results, slots, strict=True):
        store(target, result._data, op, slot)
    return Outputs(targets)


def _uncast(op: Op, args: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
    """Run the op as it is: in PyTorch, autocast has no say in what takes ``out=``."""
    now = mode.now
    casting, now.casting = now.casting, None
    try:
        return apply(op, args, options)
    finally:
        now.casting = casting


_APART = {"cat", "gather", "index_select", "kthvalue", "masked_select", "take"}
"""Ops that read their operands in another order than they write."""


_JOINED = {"cat", "stack", "hstack", "vstack", "dstack", "column_stack", "_chunk_cat"}
_NOT_JOINED = "torch.cat(): input types can't be cast to the desired output type {}"

_TRUTHS = {
    name: f"{name} only supports bool tensor for result, got: {{}}"
    for name in ("all", "any")
}
"""Ops that tell yes or no, in bool or in uint8."""


def store(
    target: Tensor, value: Any, op: Op, slot: str = "result", lies_like: bool = False
) -> None:
    """Copy a result into an ``out=`` tensor, which takes the result's shape.

    Where it is resized it ``lies_like`` the result, if that is asked for, and always
    if the op is a pointwise one.
    """
    result = DTYPE_OF[value.dtype]
    if op.name in _TRUTHS:
        if target.dtype not in (bool_, uint8):
            raise RuntimeError(_TRUTHS[op.name].format(target.dtype.cpp_name))
        result = target.dtype
    castable = op.out_rule == CASTABLE and can_cast(result, target.dtype)
    if op.out_rule and result is not target.dtype and not castable:
        raise RuntimeError(
            op.out_rule.format(
                name=op.name,
                slot=slot,
                result=result.cpp_name,
                out=target.dtype.cpp_name,
                wanted=CPP_TYPE[result],
                given=CPP_TYPE[target.dtype],
            )
        )
    if not can_cast(result, target.dtype):
        if op.name in _JOINED:
            raise TypeError(_NOT_JOINED.format(target.dtype.cpp_name))
        raise RuntimeError(
            _errors.CAST_REFUSED.format(
                result=result.cpp_name, output=target.dtype.cpp_name
            )
        )
    if target._data.shape != value.shape:
        alike = (op.pointwise or op.name == "cat") and value.size
        _resize(target, value, lies_like or bool(alike))
    elif op.family != "reduction":
        check_overlap(target, op.name)
    for look in before_write:
        look(target)
    target._data[...] = value
    version = target._storage.bump(f"{op.name}(out=)", caller_site())
    for see in after_write:
        see(target, op.name, version)


def _resize(target: Tensor, value: Any, lies_like: bool) -> None:
    """Give ``out=`` the shape of a result, and its strides if it ``lies_like`` it."""
    if target._data.size:
        warnings.warn(
            _RESIZED.format(
                old=shape_text(target._data.shape), new=shape_text(value.shape)
            ),
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    steps = None
    if lies_like:
        steps = tuple(step // value.itemsize for step in value.strides)
    target._resize_output_(value.shape, steps)  # type: ignore[attr-defined]


def _flat(args: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for arg in args:
        found.extend(arg if isinstance(arg, list | tuple) else [arg])
    return found
