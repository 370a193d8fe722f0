"""Automatic mixed precision: gradtape.amp mirrors torch.amp."""

from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import enter_autocast as _enter
from .autocast_mode import exit_autocast as _exit
from .autocast_mode import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler

_enter_autocast = _enter
_exit_autocast = _exit

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
]
