"""Sliding windows, under the name of PyTorch's file."""

from __future__ import annotations

from ._distance import Fold as Fold
from ._distance import Unfold as Unfold
