"""Batch normalisation, under the name of PyTorch's file."""

from __future__ import annotations

from ._batchnorm import BatchNorm1d as BatchNorm1d
from ._batchnorm import BatchNorm2d as BatchNorm2d
from ._batchnorm import BatchNorm3d as BatchNorm3d
from ._batchnorm import _BatchNorm as _BatchNorm
from ._batchnorm import _NormBase as _NormBase
from ._batchnorm_sync import SyncBatchNorm as SyncBatchNorm
from ._lazy_layers import LazyBatchNorm1d as LazyBatchNorm1d
from ._lazy_layers import LazyBatchNorm2d as LazyBatchNorm2d
from ._lazy_layers import LazyBatchNorm3d as LazyBatchNorm3d
