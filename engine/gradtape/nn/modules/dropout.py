"""Dropouts, under the name of PyTorch's file."""

from __future__ import annotations

from ._dropout import AlphaDropout as AlphaDropout
from ._dropout import Dropout as Dropout
from ._dropout import Dropout1d as Dropout1d
from ._dropout import Dropout2d as Dropout2d
from ._dropout import Dropout3d as Dropout3d
from ._dropout import FeatureAlphaDropout as FeatureAlphaDropout
from ._dropout import _DropoutNd as _DropoutNd
