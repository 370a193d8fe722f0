"""Ops called without detours: one specialised function per op, written as source.

Where ``_fast.py`` serves arithmetic, this serves the ops with kernels of their own:
products, reductions, softmax and the like. What is not of the simple kind goes to the
general :func:`apply`. Both paths record exactly the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dtypes import DTYPE_OF
from .._graph.node import save_input, save_output
from .._graph.op import Op
from .._graph.output_layout import element_strides
from .._tensor.tensor import Tensor, wrap
from .apply import WRAPPED, apply
from .bind_pointwise import SCOPE
from .direct_source import direct_source, is_direct


def strides_of(tensor: Tensor, array: Any) -> tuple[int, ...]:
    """Return a tensor's strides in elements."""
    return element_strides(array) if array.size else tensor.stride()


def bind_apply(op: Op) -> Callable[[Op, tuple[Any, ...], tuple[Any, ...]], Any]:
    """Return what runs an op on ``(op, tensors, options)``."""
    if not is_direct(op):
        return apply
    scope: dict[str, Any] = {
        **SCOPE,
        "DTYPE_OF": DTYPE_OF,
        "WRAPPED": WRAPPED,
        "apply": apply,
        "check": op.check,
        "kernel": op.kernel,
        "node_type": op.node_type,
        "op": op,
        "save_input": save_input,
        "save_output": save_output,
        "strides_of": strides_of,
        "wrap": wrap,
    }
    exec(compile(direct_source(op), f"<gradtape call {op.name}>", "exec"), scope)
    return scope["direct"]
