"""Settings of the process: threads, precision, the default types.

Most choose nothing here and are kept for programs that set and read them back.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from ..._backend import cuda as _cuda
from ..._backend.device import default_device
from ..._backend.device import device as Device
from ..._common.site import user_stacklevel
from ..._common.warn import warn_once
from ..._dispatch.declare import public
from ..._dtypes import set_default_dtype

# ---- threads -----------------------------------------------------------------------


class _Threads:
    """How many threads were asked for; None until somebody does."""

    inside: int | None = None
    between: int | None = None
    limits: Any = None


def _allowed() -> int:
    named = os.environ.get("OMP_NUM_THREADS", "")
    return int(named) if named.isdigit() and int(named) else _processors()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@public
def get_num_threads() -> int:
    """Return how many threads an op may use.

    >>> import gradtape as torch
    >>> torch.get_num_threads() >= 1
    True
    """
    return _Threads.inside or _allowed()


@public
def set_num_threads(int: Any) -> None:
    """Let NumPy's matrix library use so many threads, through threadpoolctl.

    Without that library the number is only kept: set OMP_NUM_THREADS instead, before
    the program starts. Raises RuntimeError for what is no positive number.
    """
    _check_threads("set_num_threads", int)
    _Threads.inside = int
    try:
        from threadpoolctl import (  # pyright: ignore[reportMissingImports]
            threadpool_limits,
        )
    except ImportError:
        return
    _Threads.limits = threadpool_limits(int)


@public
def get_num_interop_threads() -> int:
    """Return how many ops may run at once."""
    return _Threads.between or _allowed()


@public
def set_num_interop_threads(int: Any) -> None:
    """Choose how many ops may run at once; the number is only kept."""
    _check_threads("set_num_interop_threads", int)
    if _Threads.between is not None:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has "
            "started or set_num_interop_threads called"
        )
    _Threads.between = int


def _check_threads(name: str, number: Any) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(number).__name__}")
    if not -(2**63) <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if number <= 0:
        raise RuntimeError(f"{name} expects a positive integer")


# ---- precision and types -----------------------------------------------------------


class _Precision:
    """How exact products of float32 must be; here they always are."""

    matmul = "highest"


precision = _Precision()


class _AttentionKernels:
    """Which kinds of attention are allowed; all compute the same here."""

    flash = True
    memory_efficient = True
    math = True
    cudnn = True
    reduced_math = False


attention = _AttentionKernels()


class _Onednn:
    """Whether an LSTM's layer is one op, as oneDNN has it; ``backends.mkldnn`` says."""

    is_enabled: Callable[[], bool]


onednn = _Onednn()


@public
def get_float32_matmul_precision() -> str:
    """Return what was asked for: "highest", "high" or "medium"."""
    return precision.matmul


@public
def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 to be less exact; nothing here makes use of it."""
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
        return
    _keep_precision(precision)


def _keep_precision(name: str) -> None:
    precision.matmul = name


@public
def set_flush_denormal(mode: bool) -> bool:
    """Ask that tiny numbers become zero; return whether that is possible: no."""
    return False


_NO_TENSOR_TYPE = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
    "torch.set_default_dtype() and torch.set_default_device() as alternatives."
)


@public
def set_default_tensor_type(t: Any) -> None:
    """Deprecated, as in PyTorch: set the default dtype by the old name of a type."""
    from ..creation.legacy_types import BY_FULL_NAME  # upwards, hence late

    warn_once(_NO_TENSOR_TYPE)

    kind: Any = BY_FULL_NAME.get(t) if isinstance(t, str) else t
    if kind is None:
        raise TypeError(f"invalid type object: {t}")
    if kind.__module__ == "torch.sparse":
        raise TypeError("only dense types are supported as the default type")
    if not kind.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if kind not in BY_FULL_NAME.values() or "cuda" in repr(kind):
        kind()  # says that there is no such device
    set_default_dtype(kind.dtype)


@public
def get_device_module(device: Any = None) -> Any:
    """Return the module of a type of device, such as ``gradtape.cuda``.

    >>> import gradtape as torch
    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if device is None:
        name = "cuda" if _cuda.is_available() else default_device().type
    elif isinstance(device, str | Device):
        name = Device(device).type
    else:
        raise RuntimeError(
            f"Invalid value of device '{device}', expect torch.device, str, or None"
        )
    found = getattr(sys.modules[__name__.partition(".")[0]], name, None)
    if found is None:
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as "
            f"'torch.{name}'."
        )
    return found


@public
def compiled_with_cxx11_abi() -> bool:
    """Say what PyTorch's packages say of their C++: yes."""
    return True
