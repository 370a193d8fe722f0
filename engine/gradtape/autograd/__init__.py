"""Differentiation: ``backward`` and ``grad``, and the modes they respect."""

from .._engine.saved_attributes import SavedTensor as SavedTensor
from .._modes.grad_mode import enable_grad as enable_grad
from .._modes.grad_mode import inference_mode as inference_mode
from .._modes.grad_mode import no_grad as no_grad
from .._modes.grad_mode import set_grad_enabled as set_grad_enabled
from .._profiling.blocks import enter_with_args, leave
from ..ops.tensor.inference import unsafe_preserve_version_counter
from . import forward_ad as forward_ad
from . import function as function
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from . import profiler as profiler
from . import profiler_legacy as profiler_legacy
from . import profiler_util as profiler_util
from . import variable as variable
from ._api import backward as backward
from ._api import grad as grad
from ._api import shapes_of
from ._multithreading import is_multithreading_enabled as is_multithreading_enabled
from ._multithreading import set_multithreading_enabled as set_multithreading_enabled
from ._profiler.config import ProfilerActivity as ProfilerActivity
from ._profiler.config import ProfilerState as ProfilerState
from ._profiler.config import _supported_activities as _supported_activities
from ._profiler.config import kineto_available as kineto_available
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .function import Function as Function
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .profiler import _profiler_enabled as _profiler_enabled
from .profiler_util import DeviceType as DeviceType
from .variable import Variable as Variable

_unsafe_preserve_version_counter = unsafe_preserve_version_counter
_calculate_shape = shapes_of
_record_function_with_args_enter = enter_with_args
_record_function_with_args_exit = leave
