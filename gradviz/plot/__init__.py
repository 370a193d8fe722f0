"""Figures of gradients for notebooks, papers and reports, drawn by plotly.

Each takes what has gradients in it: what :func:`gradviz.record` or
:func:`gradviz.watch` gave, a snapshot, a tensor with a graph, or the path of a file
that gradviz wrote.
"""

from __future__ import annotations

from typing import Any

from gradviz.plot._flow import gradient_flow as gradient_flow
from gradviz.plot._histograms import histograms as histograms
from gradviz.plot._ratio import update_ratio as update_ratio

__all__ = ["gradient_flow", "histograms", "update_ratio"]


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"gradviz.plot has no figure {name!r}; it draws {', '.join(__all__)}"
    )
