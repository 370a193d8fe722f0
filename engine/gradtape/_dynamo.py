"""gradtape._dynamo: the names of PyTorch's capture that programs use; none captures."""

from __future__ import annotations

from types import SimpleNamespace

from .compiler import allow_in_graph as allow_in_graph
from .compiler import disable as disable
from .compiler import is_compiling as is_compiling
from .compiler import list_backends as list_backends
from .compiler import reset as reset

config = SimpleNamespace(
    cache_size_limit=8,
    capture_scalar_outputs=False,
    recompile_limit=8,
    suppress_errors=False,
    verbose=False,
)
"""Kept for programs that set it; nothing reads it."""
