"""Running an op forward: promote, compute, wrap the result, record the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .._graph.observe import OpCalled, notify, observers
from .._graph.op import Op
from .._modes.grad_mode import mode
from .._overrides.torch_dispatch import (
    adopt,
    answer,
    asked,
    by_classes,
    dispatching,
    shares_memory,
)
from .._overrides.torch_function import ask, overriding
from .._saved.hooks import pack_outputs
from .._storage.result_strides import laid_out
from .._tensor.tensor import Tensor, wrap, wrap_view
from .anomaly_report import check_outputs
from .operands import (
    arrays_of,
    as_array,
    broadcast_error,
    compute,
    placed_results,
    promote,
)
from .recording import record

WRAPPED: Final = frozenset((Tensor, *(np.dtype(c).type for c in "bBhHiIlLqQ")))
"""What an option's number may come as."""


def numbers_of(params: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return options with the numbers of those that came as 0-d tensors or NumPy's."""
    return tuple(
        p.item()
        if type(p) in WRAPPED
        and (type(p) is not Tensor or not (p.dim() or p.requires_grad))
        else p
        for p in params
    )


def apply(op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run an op on tensors (``args``) and other arguments (``params``)."""
    now = mode.now
    if now.profile is not None:
        return now.profile.op(apply, op, args, params)
    if now.overrides:
        kinds = overriding(args)
        if kinds:
            return ask(kinds, apply, op, args, params)
    if now.casting is not None:
        args = now.casting.op(op, args, params)
    if not WRAPPED.isdisjoint(map(type, params)):
        params = numbers_of(params)
    kinds = asked((*args, *params)) if now.dispatch or dispatching else None
    if kinds is None:
        outputs = computed(op, args, params)
    else:
        found = answer(apply, op, args, params, kinds)
        if found is None:
            return None
        outputs = outputs_of(op, args, found)
    if now.checks:
        check_outputs(op, op.name, (*args, *params), outputs)
    node = None
    if now.grad and op.formulas:
        node = record(op, args, params, outputs)
        if node is not None and (now.rare or kinds):
            pack_outputs(node, outputs)
        if node is not None and kinds:
            by_classes.add(node)
    if now.duals is not None:
        now.duals.ran(op, args, params, outputs, node)
    if observers:
        notify(OpCalled(op.name, (*args, *params), outputs, node))
    return outputs[0] if op.outputs == 1 else outputs


def computed(op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run the kernel of an op; return its results as tensors, without history."""
    now = mode.now
    arrays, xp = arrays_of(op, args)
    if op.check is not None:
        op.check(op.name, *args, *params)
    given = arrays
    if op.promotion != "none":
        arrays = now.run(promote, op, args, arrays)
    try:
        found = now.run(compute, op, xp, arrays, params)
    except ValueError as error:
        if op.promotion != "none" and "broadcast" in str(error):
            raise broadcast_error(*(np.shape(a) for a in arrays)) from None
        raise
    if xp is not np:
        found = placed_results(xp, found)
    if op.lies_like_operands:
        found = laid_out(xp, as_array(found), given)
    return wrap_outputs(op, args, found)


def outputs_of(op: Op, args: Sequence[Any], found: Any) -> tuple[Tensor, ...]:
    """Return what was answered for an op as tensors that can take its history."""
    outputs = (found,) if op.outputs == 1 else tuple(found)
    if op.view is None:
        return outputs
    if shares_memory(outputs[0], args[0]):
        return tuple(wrap_view(o._data, args[0], op.view) for o in outputs)
    for output in outputs:
        adopt(output, args[0], op.view)
    return outputs


def wrap_outputs(op: Op, args: Sequence[Any], found: Any) -> tuple[Tensor, ...]:
    """Make tensors over what the kernel returned."""
    arrays = (found,) if op.outputs == 1 else found
    if op.view is not None:
        return tuple(wrap_view(as_array(a), args[0], op.view) for a in arrays)
    return tuple([wrap(as_array(a)) for a in arrays])
