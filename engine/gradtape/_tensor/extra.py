"""What few tensors have: hooks, a name, a gradient of another dtype, a tangent."""

from __future__ import annotations

import weakref
from typing import Any

from .._graph.node import AccumulateGrad

OWN_DTYPE = "own"
"""The dtype of ``.grad`` where nobody chose one: that of the tensor."""


class TensorExtra:
    """What few tensors have: hooks, an accumulate node, a name."""

    __slots__ = (
        "accumulator",
        "carried",
        "grad_dtype",
        "hooks",
        "identity",
        "name",
        "post_accumulate",
        "retains",
    )

    def __init__(self) -> None:
        self.accumulator: weakref.ref[AccumulateGrad] | None = None
        self.grad_dtype: Any = OWN_DTYPE
        self.hooks: dict[int, Any] | None = None
        self.post_accumulate: dict[int, Any] | None = None
        self.identity = 0  # given when first asked for; see Tensor._cdata
        self.retains = False
        self.name: str | None = None
        self.carried: Any = None  # what forward mode knows of the tensor
