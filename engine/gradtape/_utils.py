"""What files call to rebuild tensors, and tools ask, under names that they know."""

from collections.abc import Sequence as _Sequence
from typing import Any as _Any

from ._dispatch.declare import FUNCTIONS as _FUNCTIONS
from ._dtypes import dtype as _DType
from ._tensor.tensor import Tensor as _Tensor
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


def flatten_dense_tensors(tensors: _Sequence[_Any]) -> _Tensor:
    """Return the elements of all tensors in one dimension.

    >>> import gradtape as torch
    >>> from gradtape._utils import _flatten_dense_tensors
    >>> _flatten_dense_tensors([torch.ones(1, 2), torch.tensor(3.0)])
    tensor([1., 1., 3.])
    """
    return _FUNCTIONS["cat"]([tensor.reshape(-1) for tensor in tensors])


def unflatten_dense_tensors(
    flat: _Any, tensors: _Sequence[_Any]
) -> tuple[_Tensor, ...]:
    """Return the parts of ``flat`` in the shapes of the tensors, as views.

    >>> import gradtape as torch
    >>> from gradtape._utils import _unflatten_dense_tensors
    >>> like = [torch.ones(1, 2), torch.tensor(3.0)]
    >>> _unflatten_dense_tensors(torch.arange(3.0), like)
    (tensor([[0., 1.]]), tensor(2.))
    """
    found: list[_Tensor] = []
    begin = 0
    for tensor in tensors:
        count = tensor.numel()
        found.append(flat.narrow(0, begin, count).view_as(tensor))
        begin += count
    return tuple(found)


_element_size = element_size
_flatten_dense_tensors = flatten_dense_tensors
_unflatten_dense_tensors = unflatten_dense_tensors
