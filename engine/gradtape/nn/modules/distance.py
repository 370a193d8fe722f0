"""Distances, under the name of PyTorch's file."""

from __future__ import annotations

from ._distance import CosineSimilarity as CosineSimilarity
from ._distance import PairwiseDistance as PairwiseDistance
