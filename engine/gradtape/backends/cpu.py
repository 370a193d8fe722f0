"""What the processor can do."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the widest vector instructions: "DEFAULT", "AVX2" or "AVX512".

    >>> import gradtape as torch
    >>> torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    found: Any = np.show_config(mode="dicts")
    simd = found["SIMD Extensions"]
    names = {*simd["baseline"], *simd["found"]}
    if names & {"AVX512_SKX", "X86_V4"}:
        return "AVX512"
    return "AVX2" if names & {"AVX2", "X86_V3"} else "DEFAULT"
