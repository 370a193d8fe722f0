"""What computes: the text that PyTorch prints about how it was built."""

from __future__ import annotations

import numpy as np

from ._backend import cuda as _cuda
from ._common import compiled as _compiled
from .ops.tensor.settings import get_num_interop_threads, get_num_threads
from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return a text that says with what this package computes.

    >>> import gradtape as torch
    >>> print(torch.__config__.show().partition(" ")[0])
    gradtape
    """
    lines = [f"gradtape {__version__}, computing with:", f"  - NumPy {np.__version__}"]
    if _compiled.is_any():
        lines.append("  - functions of its own, compiled")
    if _cuda.is_available():
        lines.append(f"  - CuPy {_cuda.cupy().__version__}")
    return "\n".join([*lines, ""])


def parallel_info() -> str:
    """Return a text that says how many threads are used."""
    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
