"""Ops called without detours: one specialised function per op, written as source.

Where ``_fast.py`` serves arithmetic, this serves the ops with kernels of their own:
products, reductions, softmax and the like. What is not of the simple kind goes to the
general :func:`apply`. Both paths record exactly the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._apply import WRAPPED, apply
from ._direct_source import direct_source, is_direct
from ._dtypes import DTYPE_OF
from ._fast import SCOPE
from ._node import save_input, save_output
from ._node_layout import element_strides
from ._op import Op
from ._tensor import Tensor, wrap


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
