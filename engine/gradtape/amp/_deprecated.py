"""The older names of mixed precision, ``cpu.amp`` and ``cuda.amp``, which warn."""

from __future__ import annotations

import warnings

from .._common.site import user_stacklevel
from .._dtypes import bfloat16, float16
from .._dtypes import dtype as DType
from .autocast_mode import autocast
from .grad_scaler import GradScaler


def warn_deprecated(old: str, new: str) -> None:
    """Warn that ``torch.old`` has become ``torch.new``."""
    warnings.warn(
        f"`torch.{old}` is deprecated. Please use `torch.{new}` instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )


def older_autocast(device: str) -> type[autocast]:
    """Return ``<device>.amp.autocast``."""
    usual = bfloat16 if device == "cpu" else float16

    class Autocast(autocast):
        def __init__(
            self,
            enabled: bool = True,
            dtype: DType = usual,
            cache_enabled: bool = True,
        ) -> None:
            new = f"amp.autocast('{device}', args...)"
            warn_deprecated(f"{device}.amp.autocast(args...)", new)
            super().__init__(device, dtype, enabled, cache_enabled)

    return _named(Autocast, "autocast", f"{device}.amp.autocast_mode")


def older_scaler(device: str) -> type[GradScaler]:
    """Return ``<device>.amp.GradScaler``."""

    class Scaler(GradScaler):
        def __init__(
            self,
            init_scale: float = 2.0**16,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            new = f"amp.GradScaler('{device}', args...)"
            warn_deprecated(f"{device}.amp.GradScaler(args...)", new)
            factors = (growth_factor, backoff_factor, growth_interval)
            super().__init__(device, init_scale, *factors, enabled)

    return _named(Scaler, "GradScaler", f"{device}.amp.grad_scaler")


def _named(cls: type, name: str, module: str) -> type:
    """Let a class be found, and pickled, where PyTorch has it."""
    package = __name__.partition(".")[0]
    cls.__name__ = cls.__qualname__ = name
    cls.__module__ = f"{package}.{module}"
    new = f'gradtape.amp.{name}("{module.partition(".")[0]}")'
    cls.__doc__ = f"Deprecated, as in PyTorch: use ``{new}``."
    return cls
