"""Normalisations, under the name of PyTorch's file."""

from __future__ import annotations

from ._norm import GroupNorm as GroupNorm
from ._norm import LayerNorm as LayerNorm
from ._norm import LocalResponseNorm as LocalResponseNorm
from ._norm import RMSNorm as RMSNorm
from ._older import CrossMapLRN2d as CrossMapLRN2d
