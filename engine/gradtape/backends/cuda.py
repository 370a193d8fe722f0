"""Flags of what computes on CUDA devices, kept for programs that set them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from .._backend import cuda as _cuda
from .._common.site import user_stacklevel
from ..ops.tensor.settings import attention, precision


class _BlasBackend(Enum):
    Default = 0
    Cublas = 1
    Cublaslt = 2


class _LinalgBackend(Enum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _Matmul:
    """The flags of matrix products; others than these are refused."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may be computed with fewer digits."""
        return precision.matmul != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        precision.matmul = "high" if allowed else "highest"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(_Matmul, name):
            raise AttributeError(f"Unknown attribute {name}")
        object.__setattr__(self, name, value)


class _PlanCache:
    """The plans of Fourier transforms, which CuPy keeps by itself."""

    @property
    def size(self) -> int:
        """How many plans there are. Raises AssertionError without CUDA."""
        return int(self._cache().get_curr_size())

    @property
    def max_size(self) -> int:
        """How many plans are kept."""
        return int(self._cache().get_size())

    @max_size.setter
    def max_size(self, size: int) -> None:
        self._cache().set_size(size)

    def clear(self) -> None:
        """Forget the plans."""
        self._cache().clear()

    def _cache(self) -> Any:
        return _cuda.cupy().fft.config.get_plan_cache()


matmul = _Matmul()
cufft_plan_cache = _PlanCache()


def is_built() -> bool:
    """Tell whether CUDA devices could be used: whether CuPy is installed."""
    return _cuda.installed()


def _switch(kind: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """Return what reads and what sets the flag of a kind of attention."""

    def enabled() -> bool:
        return getattr(attention, kind)

    def enable(enabled: bool) -> None:
        setattr(attention, kind, enabled)

    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("memory_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")
(
    fp16_bf16_reduction_math_sdp_allowed,
    allow_fp16_bf16_reduction_math_sdp,
) = _switch("reduced_math")


def is_flash_attention_available() -> bool:
    """Tell whether there is a kernel of that name: no."""
    return False


def preferred_linalg_library(backend: Any = None) -> _LinalgBackend:
    """Return who computes decompositions; the choice is not taken up."""
    return _LinalgBackend.Default


def preferred_blas_library(backend: Any = None) -> _BlasBackend:
    """Return who computes products; the choice is not taken up."""
    return _BlasBackend.Cublas


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Generator[None]:
    """Deprecated, as in PyTorch: set the flags of attention for a block."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context "
        "manager will be removed. Please see `torch.nn.attention.sdpa_kernel()` for "
        "the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    with attention_kinds(
        flash=enable_flash,
        memory_efficient=enable_mem_efficient,
        math=enable_math,
        cudnn=enable_cudnn,
    ):
        yield


@contextmanager
def attention_kinds(**allowed: bool) -> Generator[None]:
    """Set the flags of attention for a block."""
    before = {name: getattr(attention, name) for name in allowed}
    try:
        for name, value in allowed.items():
            setattr(attention, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(attention, name, value)
