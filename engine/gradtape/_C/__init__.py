"""The names of ``torch._C`` that programs use: state of the engine, and its nodes."""

from __future__ import annotations

import weakref
from typing import Any

from .._autocast.autocast import any_enabled, is_available, supported_devices
from .._backend.device import device as device
from .._common.refusals import refused_names
from .._dispatch.operands import common_shape
from .._dtypes import dtype as dtype
from .._dtypes import finfo as finfo
from .._dtypes import iinfo as iinfo
from .._engine.graph_task import current_id, current_node, current_order, will_execute
from .._modes.disable_dispatch import DisableTorchDispatch, undispatched
from .._modes.grad_mode import is_grad_enabled as is_grad_enabled
from .._modes.grad_mode import mode, switch_grad_mode
from .._overrides import modes as _function_modes
from .._overrides.modes import DisableTorchFunction as DisableTorchFunction
from .._overrides.torch_function import (
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
)
from .._overrides.torch_function import disabled
from .._random.generator import Generator as Generator
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from ..autograd import _multithreading
from ..autograd._engine import ImperativeEngine
from ..autograd._function.node import CustomNode
from ..autograd._graph_edges import increment_version
from ..backends import mkldnn
from ..ops._support.linalg import LinAlgError
from ..ops.memory.memory_format import layout as layout
from ..ops.memory.memory_format import memory_format as memory_format
from ..ops.tensor.determinism import fill_memory, fills_memory
from ..utils._foreach_utils import grouped, other_backend
from . import _autograd as _autograd
from . import _builds as _builds
from . import _forward
from . import _functions as _functions
from . import _nn as _nn
from . import _profiler as _profiler
from ._conv import ConvBackend, select_conv_backend
from ._keys import DispatchKey as DispatchKey
from ._keys import DispatchKeySet as DispatchKeySet

_ConvBackend = ConvBackend
_FunctionBase = CustomNode
_ImperativeEngine = ImperativeEngine
_LinAlgError = LinAlgError
_TensorBase = TensorBase = Tensor  # whose methods are written in one class here
_TensorMeta = type(Tensor)
_are_functorch_transforms_active = _forward.transforms_active
_DisableTorchDispatch = DisableTorchDispatch
_disabled_torch_dispatch_impl = undispatched
_disabled_torch_function_impl = disabled
_current_autograd_node = current_node
_current_graph_task_execution_order = current_order
_current_graph_task_id = current_id
_debug_only_are_vmap_fallback_warnings_enabled = _forward.fallback_warnings_enabled
_debug_only_display_vmap_fallback_warnings = _forward.display_fallback_warnings
_get_deterministic_fill_uninitialized_memory = fills_memory
_set_deterministic_fill_uninitialized_memory = fill_memory
_increment_version = increment_version
_autocast_supported_devices = supported_devices
_is_any_autocast_enabled = any_enabled
_is_autocast_available = is_available
_is_fwd_grad_enabled = _forward.is_enabled
_is_multithreading_enabled = _multithreading.is_multithreading_enabled
_set_fwd_grad_enabled = _forward.set_enabled
_set_grad_enabled = switch_grad_mode
_set_multithreading_enabled = _multithreading.switch_multithreading
_EnableTorchFunction = _function_modes.EnableTorchFunction
_is_torch_function_enabled = _function_modes.is_enabled
_is_torch_function_all_disabled = _function_modes.is_all_disabled
_get_function_stack_at = _function_modes.at_function_stack
_len_torch_function_stack = _function_modes.function_modes
_will_engine_execute_node = will_execute
_get_privateuse1_backend_name = other_backend
_group_tensors_by_device_and_dtype = grouped
_select_conv_backend = select_conv_backend
globals().update(refused_names("_C"))
globals().update(_builds.PARTS)


class WeakTensorRef:
    """Refers to a tensor without keeping it alive.

    >>> import gradtape as torch
    >>> x = torch.ones(2)
    >>> reference = torch._C._WeakTensorRef(x)
    >>> del x
    >>> reference.expired()
    True
    """

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Tell whether the tensor is gone."""
        return self._reference() is None


_WeakTensorRef = WeakTensorRef


def _log_api_usage_once(event: str) -> None:  # pyright: ignore[reportUnusedFunction]
    """Count the use of an API: nothing is counted here."""


def _get_tracing_state() -> None:  # pyright: ignore[reportUnusedFunction]
    """Return the trace that is being written: there is none."""


def _get_default_device() -> str:  # pyright: ignore[reportUnusedFunction]
    """Return the type of device of the default tensor type, which is never changed."""
    return "cpu"


def _infer_size(*sizes: Size) -> Size:  # pyright: ignore[reportUnusedFunction]
    """Return the size that two sizes broadcast to."""
    for at, size in enumerate(sizes):
        if not isinstance(size, Size):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise RuntimeError(f"expected a torch.Size as argument {at + 1}")
    return Size(common_shape(*sizes))


def _is_alias_of(one: Any, other: Any) -> bool:  # pyright: ignore[reportUnusedFunction]
    """Tell whether two tensors look into the same memory."""
    return one._storage.owner is other._storage.owner


def _get_mkldnn_enabled() -> bool:  # pyright: ignore[reportUnusedFunction]
    """Tell whether an LSTM layer is one op."""
    return mkldnn.enabled


def _set_mkldnn_enabled(enabled: bool) -> None:  # pyright: ignore[reportUnusedFunction]
    """Switch whether an LSTM layer is one op."""
    mkldnn.set_flags(enabled)


def is_inference_mode_enabled() -> bool:
    """Tell whether this thread is in inference mode."""
    return mode.now.inference


_FALLBACK_MODE = {
    "_get_autograd_fallback_mode": "get",
    "_set_autograd_fallback_mode": "set",
}


def __getattr__(name: str) -> Any:
    """Return what is made after this module."""
    if name in ("_AutoDispatchBelowAutograd", *_FALLBACK_MODE):
        from .._library import library as _op_library

        if name in _FALLBACK_MODE:
            return getattr(_op_library.fallback_mode, _FALLBACK_MODE[name])
        return _op_library.AutoDispatchBelowAutograd
    if name in ("PyTorchFileReader", "PyTorchFileWriter"):
        from ..serialization import _records

        return getattr(_records, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
