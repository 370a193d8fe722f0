"""Names the producer of a graph of PyTorch."""

from __future__ import annotations

from typing import Any


def producer(torch: Any) -> str:
    """Return what recorded the graph, with its version."""
    return f"PyTorch {torch.__version__}"
