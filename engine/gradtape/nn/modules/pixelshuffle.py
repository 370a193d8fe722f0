"""Shuffled pixels, under the name of PyTorch's file."""

from __future__ import annotations

from ._distance import PixelShuffle as PixelShuffle
from ._distance import PixelUnshuffle as PixelUnshuffle
