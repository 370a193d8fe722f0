"""CUDA devices through CuPy: gradtape.cuda mirrors torch.cuda.

Without CuPy it answers as PyTorch does where it was built without CUDA.
"""

from .._backend import cuda as _cuda
from .._backend.cuda import current_device as current_device
from .._backend.cuda import device_count as device_count
from .._backend.cuda import is_available as is_available
from .._backend.cuda import is_bf16_supported as is_bf16_supported
from .._backend.cuda import is_initialized as is_initialized
from .._common.refusals import refused_names as _refused_names
from . import amp as amp
from . import memory as memory
from . import nvtx as nvtx
from . import random as random
from . import streams as streams
from ._devices import _CudaDeviceProperties as _CudaDeviceProperties
from ._devices import can_device_access_peer as can_device_access_peer
from ._devices import device as device
from ._devices import device_of as device_of
from ._devices import get_device_capability as get_device_capability
from ._devices import get_device_name as get_device_name
from ._devices import get_device_properties as get_device_properties
from ._devices import set_device as set_device
from ._devices import synchronize as synchronize
from ._errors import AcceleratorError as AcceleratorError
from ._errors import OutOfMemoryError as OutOfMemoryError
from ._tensor_types import TENSOR_TYPES as _TENSOR_TYPES
from .memory import empty_cache as empty_cache
from .memory import max_memory_allocated as max_memory_allocated
from .memory import max_memory_cached as max_memory_cached
from .memory import max_memory_reserved as max_memory_reserved
from .memory import mem_get_info as mem_get_info
from .memory import memory_allocated as memory_allocated
from .memory import memory_cached as memory_cached
from .memory import memory_reserved as memory_reserved
from .memory import memory_stats as memory_stats
from .memory import memory_summary as memory_summary
from .memory import reset_max_memory_allocated as reset_max_memory_allocated
from .memory import reset_peak_memory_stats as reset_peak_memory_stats
from .memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all
from .streams import Event as Event
from .streams import ExternalStream as ExternalStream
from .streams import Stream as Stream
from .streams import StreamContext as StreamContext
from .streams import current_stream as current_stream
from .streams import default_stream as default_stream
from .streams import set_stream as set_stream
from .streams import stream as stream

globals().update(_TENSOR_TYPES)
globals().update(_refused_names("cuda"))


def init() -> None:
    """Start CUDA, which otherwise happens when a device is first used.

    Raises AssertionError without CuPy, RuntimeError without a device.
    """
    _cuda.cupy()


def ipc_collect() -> None:
    """Free what other processes no longer share: here nothing ever is."""
    _cuda.cupy()


def get_arch_list() -> list[str]:
    """Return the architectures that kernels were built for: CuPy builds when asked."""
    return []


def is_current_stream_capturing() -> bool:
    """Tell whether a CUDA graph is being recorded."""
    return bool(_cuda.cupy().cuda.get_current_stream().is_capturing())


def is_tf32_supported() -> bool:
    """Tell whether matrix products may use TF32: the devices since 8.0 do."""
    return is_available() and get_device_capability()[0] >= 8


_is_compiled = _cuda.installed
_lazy_init = init
