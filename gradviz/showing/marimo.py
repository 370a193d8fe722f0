"""marimo, which runs cells without IPython and shows widgets through anywidget."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gradviz import ir


def marimo() -> Any:
    """Return marimo where a cell of a marimo notebook runs; None elsewhere."""
    module = sys.modules.get("marimo")
    if module is None:
        return None
    running = getattr(module, "running_in_notebook", None)
    return module if running is not None and running() else None


def show_in(host: Any, x: object) -> Callable[[ir.Snapshot], None]:
    """Show a graph below the running cell; return what puts another in its place."""
    from gradviz.widget import GradvizWidget

    widget = GradvizWidget(x)
    host.output.append(widget)

    def replace(later: ir.Snapshot) -> None:
        widget.snapshot = later

    return replace
