"""The older names of mixed precision on the CPU; use gradtape.amp."""

from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
from .autocast_mode import autocast as autocast
from .grad_scaler import GradScaler as GradScaler
