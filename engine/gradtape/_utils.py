"""What files call to rebuild tensors, under the module name that they know."""

from .ops.rebuild import (
    _rebuild_device_tensor_from_cpu_tensor as _rebuild_device_tensor_from_cpu_tensor,
)
from .ops.rebuild import (
    _rebuild_device_tensor_from_numpy as _rebuild_device_tensor_from_numpy,
)
from .ops.rebuild import _rebuild_from_type_v2 as _rebuild_from_type_v2
from .ops.rebuild import _rebuild_parameter as _rebuild_parameter
from .ops.rebuild import _rebuild_parameter_with_state as _rebuild_parameter_with_state
from .ops.rebuild import _rebuild_sparse_tensor as _rebuild_sparse_tensor
from .ops.rebuild import _rebuild_tensor as _rebuild_tensor
from .ops.rebuild import _rebuild_tensor_v2 as _rebuild_tensor_v2
from .ops.rebuild import _rebuild_tensor_v3 as _rebuild_tensor_v3
