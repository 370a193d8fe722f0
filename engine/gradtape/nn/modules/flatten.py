"""Flatten and Unflatten, under the name of PyTorch's file."""

from __future__ import annotations

from ._linear import Flatten as Flatten
from ._linear import Unflatten as Unflatten
