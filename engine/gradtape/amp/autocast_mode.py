"""``autocast`` as a context manager and decorator, and what custom functions need."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from .._autocast import autocast as switches
from .._autocast.autocast import state
from .._backend import cuda
from .._common.site import user_stacklevel
from .._dtypes import bfloat16, float16, float64
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

NO_CUDA: Final = "CUDA is not available or torch_xla is imported. Disabling autocast."
NO_BFLOAT16: Final = (
    "Current CUDA Device does not support bfloat16. Please switch dtype to float16."
)
OTHER_DTYPE: Final = (
    "In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
    "{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
)
NOT_CALLABLE: Final = (
    "autocast()(func) requires a callable, but got {name}. Did you mean to use "
    "autocast as a context manager? For example:\n"
    "    with torch.autocast(device_type=...):\n"
    "        output = model(input)"
)
NOT_STR: Final = "Expected `device_type` of type `str`, got: `{kind}`"


def is_autocast_available(device_type: str) -> bool:
    """Tell whether autocast can be on for a type of device.

    >>> import gradtape as torch
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return switches.is_available(device_type)


class autocast:
    """Let ops choose their precision: matrix products low, losses and the like full.

    Used in ``with`` or as a decorator, around forward and loss; backward belongs
    outside and computes in the types that forward did. ``dtype`` is the low precision,
    bfloat16 on the CPU and float16 on CUDA unless said. Parameters are cast once per
    block, with ``cache_enabled``. Raises RuntimeError for a device type without it.

    >>> import gradtape as torch
    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     (x @ x).dtype, x.exp().dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(NOT_STR.format(kind=type(device_type)))
        self.fast_dtype = (
            switches.get_autocast_dtype(device_type) if dtype is None else dtype
        )
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self._cache_enabled = (
            state.cache_enabled if cache_enabled is None else cache_enabled
        )
        self._enabled = enabled and self._serves()

    def _serves(self) -> bool:
        """Tell whether the device can do it; warn where autocast stays off."""
        if self.device == "cuda":
            if not cuda.is_available():
                warnings.warn(NO_CUDA, UserWarning, stacklevel=user_stacklevel())
                return False
            if self.fast_dtype is bfloat16 and not cuda.is_bf16_supported():
                raise RuntimeError(NO_BFLOAT16)
        elif self.fast_dtype not in (bfloat16, float16):
            said = OTHER_DTYPE.format(name=self.device.upper())
            warnings.warn(said, UserWarning, stacklevel=user_stacklevel())
            return False
        return True

    def __enter__(self) -> autocast:
        name = self.device
        self.prev_cache_enabled = state.cache_enabled
        self.prev = switches.is_autocast_enabled(name)
        self.prev_fastdtype = switches.get_autocast_dtype(name)
        state.enabled[name] = self._enabled
        state.dtypes[name] = self.fast_dtype
        state.cache_enabled = self._cache_enabled
        state.nesting += 1
        state.settle()
        return self

    def __exit__(self, *exc: object) -> bool:
        if switches.autocast_decrement_nesting() == 0:
            switches.clear_autocast_cache()
        state.enabled[self.device] = self.prev
        state.dtypes[self.device] = self.prev_fastdtype
        state.cache_enabled = self.prev_cache_enabled
        state.settle()
        return False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(NOT_CALLABLE.format(name=type(func).__name__))
        return autocast_decorator(self, func)


def autocast_decorator(
    autocast_instance: autocast, func: Callable[..., Any]
) -> Callable[..., Any]:
    """Return ``func``, which runs inside the given block."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def enter_autocast(*vals: Any) -> autocast:
    """Enter a block without ``with``; :func:`exit_autocast` leaves it."""
    return autocast(*vals).__enter__()


def exit_autocast(mode: autocast) -> None:
    """Leave a block."""
    mode.__exit__(None, None, None)


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Cast the floating-point tensors of a device type in nested containers."""
    if isinstance(value, Tensor):
        eligible = (
            value.dtype.is_floating_point
            and value.device.type == device_type
            and value.dtype is not float64
        )
        return value.to(dtype) if eligible else value
    if isinstance(value, str | bytes | np.ndarray):
        return value
    if isinstance(value, Mapping):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype)
            for k, v in value.items()
        }
    if isinstance(value, Iterable):
        kept = (_cast(each, device_type, dtype) for each in value)
        return type(value)(kept) if isinstance(value, list | tuple) else kept
    return value


def custom_fwd(
    fwd: Any = None, *, device_type: str, cast_inputs: DType | None = None
) -> Any:
    """Decorate the ``forward`` of a custom Function for use under autocast.

    With ``cast_inputs`` forward runs with autocast off, on arguments of that dtype;
    without, in the state there is. Outside of autocast nothing changes. ``ctx`` keeps
    what :func:`custom_bwd` needs.

    >>> import gradtape as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> with torch.autocast("cpu"):
    ...     Square.apply(torch.ones(1, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    if not isinstance(device_type, str):
        raise ValueError(NOT_STR.format(kind=type(device_type)))
    if fwd is None:
        return functools.partial(
            custom_fwd, device_type=device_type, cast_inputs=cast_inputs
        )

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = switches.get_autocast_dtype(device_type)
        enabled = switches.is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs),
                **_cast(kwargs, device_type, cast_inputs),
            )

    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` that goes with :func:`custom_fwd`.

    It runs with autocast as it was in forward.
    """
    if not isinstance(device_type, str):
        raise ValueError(NOT_STR.format(kind=type(device_type)))
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(
            device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype
        ):
            return bwd(*args, **kwargs)

    return decorate_bwd
