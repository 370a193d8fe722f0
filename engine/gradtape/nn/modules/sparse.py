"""Embeddings, under the name of PyTorch's file."""

from __future__ import annotations

from ._sparse import Embedding as Embedding
from ._sparse import EmbeddingBag as EmbeddingBag
