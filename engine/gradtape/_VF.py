"""gradtape._VF: single ops by name, where PyTorch's own layers look them up.

>>> import gradtape as torch
>>> torch._VF.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

# ruff: noqa: N999 - the name is PyTorch's

from __future__ import annotations

from typing import Any

from ._dispatch.declare import FUNCTIONS
from .ops.reduction.unique import unique_dim as unique_dim


def __getattr__(name: str) -> Any:
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"module 'torch._VF' has no attribute '{name}'") from None
