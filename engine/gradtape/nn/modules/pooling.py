"""Pooling, under the name of PyTorch's file."""

from __future__ import annotations

from ._pool import AvgPool1d as AvgPool1d
from ._pool import AvgPool2d as AvgPool2d
from ._pool import AvgPool3d as AvgPool3d
from ._pool import LPPool1d as LPPool1d
from ._pool import LPPool2d as LPPool2d
from ._pool import LPPool3d as LPPool3d
from ._pool import MaxPool1d as MaxPool1d
from ._pool import MaxPool2d as MaxPool2d
from ._pool import MaxPool3d as MaxPool3d
from ._pool import MaxUnpool1d as MaxUnpool1d
from ._pool import MaxUnpool2d as MaxUnpool2d
from ._pool import MaxUnpool3d as MaxUnpool3d
from ._pool import _AvgPoolNd as _AvgPoolNd
from ._pool import _LPPoolNd as _LPPoolNd
from ._pool import _MaxPoolNd as _MaxPoolNd
from ._pool import _MaxUnpoolNd as _MaxUnpoolNd
from ._pool_adaptive import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from ._pool_adaptive import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from ._pool_adaptive import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from ._pool_adaptive import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from ._pool_adaptive import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from ._pool_adaptive import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from ._pool_adaptive import _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd
from ._pool_adaptive import _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd
from ._pool_fractional import FractionalMaxPool2d as FractionalMaxPool2d
from ._pool_fractional import FractionalMaxPool3d as FractionalMaxPool3d
