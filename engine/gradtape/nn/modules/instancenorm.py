"""Instance normalisation, under the name of PyTorch's file."""

from __future__ import annotations

from ._batchnorm import InstanceNorm1d as InstanceNorm1d
from ._batchnorm import InstanceNorm2d as InstanceNorm2d
from ._batchnorm import InstanceNorm3d as InstanceNorm3d
from ._batchnorm import _InstanceNorm as _InstanceNorm
from ._lazy_layers import LazyInstanceNorm1d as LazyInstanceNorm1d
from ._lazy_layers import LazyInstanceNorm2d as LazyInstanceNorm2d
from ._lazy_layers import LazyInstanceNorm3d as LazyInstanceNorm3d
