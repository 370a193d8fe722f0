"""The older names of mixed precision on CUDA; use gradtape.amp."""

from . import autocast_mode as autocast_mode
from . import common as common
from . import grad_scaler as grad_scaler
from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .common import amp_definitely_not_available as amp_definitely_not_available
from .grad_scaler import GradScaler as GradScaler
