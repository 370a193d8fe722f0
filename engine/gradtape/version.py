"""Which PyTorch this package follows, and which release of the package it is."""

from __future__ import annotations

from typing import Any

from ._backend import cuda as _cuda
from ._version import __version__ as gradtape
from .torch_version import TorchVersion

__all__ = ["__version__", "debug", "git_version", "gradtape", "hip", "xpu"]

__version__ = TorchVersion(f"2.13.0+gradtape.{gradtape}")
"""The release of PyTorch whose behaviour is followed: programs compare with it."""

debug = False
git_version = "Unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None


def __getattr__(name: str) -> Any:
    if name != "cuda":
        raise AttributeError(f"module 'torch.version' has no attribute '{name}'")
    if not _cuda.is_available():
        return None
    number = int(_cuda.cupy().cuda.runtime.runtimeGetVersion())
    return f"{number // 1000}.{number % 1000 // 10}"
