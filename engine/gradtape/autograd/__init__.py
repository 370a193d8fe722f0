"""Differentiation: ``backward`` and ``grad``, and the modes they respect."""

from .._inference import unsafe_preserve_version_counter
from .._mode import enable_grad as enable_grad
from .._mode import inference_mode as inference_mode
from .._mode import no_grad as no_grad
from .._mode import set_grad_enabled as set_grad_enabled
from .._saved import SavedTensor as SavedTensor
from . import forward_ad as forward_ad
from . import function as function
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from . import variable as variable
from ._api import backward as backward
from ._api import grad as grad
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .function import Function as Function
from .variable import Variable as Variable

_unsafe_preserve_version_counter = unsafe_preserve_version_counter
