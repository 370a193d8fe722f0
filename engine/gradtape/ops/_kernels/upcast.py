"""Kernels that compute 16-bit floats in 32 bits: only what they return is rounded."""

from __future__ import annotations

import functools
from typing import Any

from ..._graph.op import Kernel
from .._support.special import widened


def rounded_once(kernel: Kernel) -> Kernel:
    """Let a kernel see 16-bit floats in 32 bits and return them in their own dtype."""

    @functools.wraps(kernel)
    def wide(xp: Any, *given: Any, **named: Any) -> Any:
        kind = given[0].dtype
        if kind.itemsize != 2 or kind.kind not in "fV":
            return kernel(xp, *given, **named)
        found = kernel(xp, *[widened(each) for each in given], **named)
        return found.astype(kind, copy=False)

    return wide
