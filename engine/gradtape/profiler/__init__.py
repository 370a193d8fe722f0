"""The profiler: record what every op takes, step by step, and see it as a trace."""

from ..autograd._profiler.config import ProfilerActivity as ProfilerActivity
from ..autograd._profiler.config import RecordScope as RecordScope
from ..autograd._profiler.config import _ExperimentalConfig as _ExperimentalConfig
from ..autograd._profiler.config import kineto_available as kineto_available
from ..autograd.profiler import KinetoStepTracker as KinetoStepTracker
from ..autograd.profiler import record_function as record_function
from ..autograd.profiler_util import DeviceType as DeviceType
from . import itt as itt
from .profiler import ProfilerAction as ProfilerAction
from .profiler import _KinetoProfile as _KinetoProfile
from .profiler import profile as profile
from .profiler import schedule as schedule
from .profiler import supported_activities as supported_activities
from .profiler import tensorboard_trace_handler as tensorboard_trace_handler
