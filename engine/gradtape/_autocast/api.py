"""The functions that read and set a thread's autocast, as ``gradtape.<name>``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._backend.device import device as Device
from .._common.messages import not_bool
from .._common.site import user_stacklevel
from .._dispatch.declare import public
from .._dtypes import dtype as DType
from .._dtypes import float16
from .autocast import DEFAULT_DTYPES, state

_NO_KEY = (
    "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
)
_DEPRECATED = "torch.{old} is deprecated. Please use torch.{new} instead."


def is_available(device_type: str) -> bool:
    """Tell whether autocast can be on for a type of device.

    Raises RuntimeError for what is no type of device.
    """
    if not isinstance(device_type, str):
        raise TypeError(
            "_is_autocast_available(): argument 'device_type' (position 1) must be "
            f"str, not {type(device_type).__name__}"
        )
    return Device(device_type).type in DEFAULT_DTYPES


def _known(device_type: str) -> str:
    name = Device(device_type).type
    if name not in DEFAULT_DTYPES:
        raise RuntimeError(_NO_KEY)
    return name


@public
def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Tell whether autocast is on in this thread, for "cuda" unless named.

    >>> import gradtape as torch
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return state.enabled["cuda" if device_type is None else _known(device_type)]


@public
def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast; ``set_autocast_enabled(True)`` alone means "cuda"."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if not isinstance(enabled, bool):
        raise not_bool(enabled, "set_autocast_enabled", "enabled")
    state.enabled[_known(device_type)] = enabled
    state.settle()


@public
def get_autocast_dtype(device_type: str) -> DType:
    """Return what autocast casts to for a type of device.

    >>> import gradtape as torch
    >>> torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
    (torch.bfloat16, torch.float16)
    """
    name = Device(device_type).type
    if name == "hip":  # PyTorch's other name for what it calls cuda
        return float16
    if name not in DEFAULT_DTYPES:
        raise RuntimeError("unsupported scalarType")
    return state.dtypes[name]


@public
def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Choose what autocast casts to for a type of device."""
    state.dtypes[_known(device_type)] = dtype
    state.settle()


@public
def is_autocast_cache_enabled() -> bool:
    """Tell whether parameters are cast once per block and not once per op."""
    return state.cache_enabled


@public
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch the cache of cast parameters."""
    state.cache_enabled = enabled


@public
def clear_autocast_cache() -> None:
    """Forget the parameters that were cast in this block."""
    state.cache.clear()


@public
def autocast_increment_nesting() -> int:
    """Note that a block begins; return how many are open."""
    state.nesting += 1
    return state.nesting


@public
def autocast_decrement_nesting() -> int:
    """Note that a block ends; return how many are still open."""
    state.nesting -= 1
    return state.nesting


def any_enabled() -> bool:
    """Tell whether autocast is on for any type of device."""
    return any(state.enabled.values())


def supported_devices() -> list[str]:
    """Return the types of device that autocast can be on for."""
    return list(DEFAULT_DTYPES)


# ---- the older functions, one per device type --------------------------------------


def _deprecated(
    old: str, new: str, takes: str, function: Callable[..., Any], *first: Any
) -> None:
    said = _DEPRECATED.format(old=f"{old}({takes})", new=new)

    def call(*args: Any) -> Any:
        warnings.warn(said, DeprecationWarning, stacklevel=user_stacklevel())
        return function(*first, *args)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"Deprecated, as in PyTorch: use ``{new}``."
    public(call)


def _older_names() -> None:
    for short, name in (
        ("cpu", "cpu"),
        ("gpu", "cuda"),
        ("ipu", "ipu"),
        ("xla", "xla"),
    ):
        said = f"('{name}')"
        _deprecated(
            f"get_autocast_{short}_dtype",
            f"get_autocast_dtype{said}",
            "",
            get_autocast_dtype,
            name,
        )
        _deprecated(
            f"set_autocast_{short}_dtype",
            f"set_autocast_dtype('{name}', dtype)",
            "dtype",
            set_autocast_dtype,
            name,
        )
        if short == "gpu":
            continue  # is_autocast_enabled() itself
        _deprecated(
            f"is_autocast_{short}_enabled",
            f"is_autocast_enabled{said}",
            "",
            is_autocast_enabled,
            name,
        )
        _deprecated(
            f"set_autocast_{short}_enabled",
            f"set_autocast_enabled('{name}', enabled)",
            "enabled",
            set_autocast_enabled,
            name,
        )


_older_names()
