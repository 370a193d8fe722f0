"""Linear layers, under the name of PyTorch's file."""

from __future__ import annotations

from ._attention import (
    NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear,
)
from ._lazy_layers import LazyLinear as LazyLinear
from ._linear import Bilinear as Bilinear
from ._linear import Identity as Identity
from ._linear import Linear as Linear
