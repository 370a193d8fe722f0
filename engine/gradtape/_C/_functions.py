"""The classes of nodes, under the names they have in ``torch._C._functions``."""

from __future__ import annotations

from typing import Any

from .._dispatch.declare import OPS
from .._dispatch.view_history import CopySlices as CopySlices
from .._graph.node import AccumulateGrad as AccumulateGrad
from ..autograd._function.context import DelayedError as DelayedError
from ..autograd._function.context import Error as Error
from ..autograd._function.context import UndefinedGrad as UndefinedGrad
from ..autograd._function.context import (
    UndefinedGradBackward as UndefinedGradBackward,
)
from ..autograd.graph import Node

Node.register(DelayedError)
Node.register(UndefinedGrad)


def __getattr__(name: str) -> Any:
    """Find the node class of an op: ``_functions.MulBackward0``."""
    for op in OPS.values():
        if op.formulas and op.node_name == name:
            return op.node_type
    raise AttributeError(f"module 'torch._C._functions' has no attribute '{name}'")
