"""What files call to rebuild tensors, and tools ask, under names that they know."""

from . import _flat
from ._dtypes import dtype as _DType
from .nn.parameter import _rebuild_parameter as _rebuild_parameter
from .nn.parameter import (
    _rebuild_parameter_with_state as _rebuild_parameter_with_state,
)
from .ops.memory.pickling import (
    _rebuild_device_tensor_from_cpu_tensor as _rebuild_device_tensor_from_cpu_tensor,
)
from .ops.memory.pickling import (
    _rebuild_device_tensor_from_numpy as _rebuild_device_tensor_from_numpy,
)
from .ops.memory.pickling import _rebuild_from_type_v2 as _rebuild_from_type_v2
from .ops.memory.pickling import (
    _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage,
)
from .ops.memory.pickling import _rebuild_sparse_tensor as _rebuild_sparse_tensor
from .ops.memory.pickling import _rebuild_tensor as _rebuild_tensor
from .ops.memory.pickling import _rebuild_tensor_v2 as _rebuild_tensor_v2
from .ops.memory.pickling import _rebuild_tensor_v3 as _rebuild_tensor_v3
from .ops.memory.pickling import _rebuild_wrapper_subclass as _rebuild_wrapper_subclass


def element_size(dtype: _DType) -> int:
    """Return the bytes per element of a dtype; raises RuntimeError for anything else.

    >>> import gradtape as torch
    >>> torch._utils._element_size(torch.complex64)
    8
    """
    if not isinstance(dtype, _DType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


_element_size = element_size
_flatten_dense_tensors = _flat.flatten_dense_tensors
_unflatten_dense_tensors = _flat.unflatten_dense_tensors
