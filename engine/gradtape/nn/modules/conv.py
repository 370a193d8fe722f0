"""Convolutions, under the name of PyTorch's file."""

from __future__ import annotations

from ._conv import Conv1d as Conv1d
from ._conv import Conv2d as Conv2d
from ._conv import Conv3d as Conv3d
from ._conv import _ConvNd as _ConvNd
from ._conv_transpose import ConvTranspose1d as ConvTranspose1d
from ._conv_transpose import ConvTranspose2d as ConvTranspose2d
from ._conv_transpose import ConvTranspose3d as ConvTranspose3d
from ._conv_transpose import _ConvTransposeNd as _ConvTransposeNd
from ._lazy_layers import LazyConv1d as LazyConv1d
from ._lazy_layers import LazyConv2d as LazyConv2d
from ._lazy_layers import LazyConv3d as LazyConv3d
from ._lazy_layers import LazyConvTranspose1d as LazyConvTranspose1d
from ._lazy_layers import LazyConvTranspose2d as LazyConvTranspose2d
from ._lazy_layers import LazyConvTranspose3d as LazyConvTranspose3d
