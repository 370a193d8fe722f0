"""Shows graphs where the user is: in a notebook, in marimo, in a browser, as text."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz import ir
from gradviz.export import export_html
from gradviz.snapshots import as_snapshot

if TYPE_CHECKING:
    from gradviz.live import Source
    from gradviz.showing.live_view import LiveView


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


def show(x: object) -> None:
    """Show the graph: below the cell in a notebook, elsewhere as a page in a browser.

    Where there is no window for a browser, a table is printed instead.

    >>> import torch, gradviz
    >>> x = torch.ones(2, requires_grad=True)
    >>> gradviz.show((x * x).sum())  # doctest: +SKIP
    """
    from gradviz.render.text import to_text
    from gradviz.showing.browser import open_page

    shell = _notebook_shell()
    if shell is not None:
        from gradviz.showing.notebook import notebook_of

        notebook_of(shell).show(x)
        return
    host = marimo()
    if host is not None:
        show_in(host, x)
        return
    snapshot = as_snapshot(x)
    page = Path(tempfile.mkdtemp(prefix="gradviz-")) / "graph.html"
    export_html(snapshot, page)
    if not open_page(page):
        print(to_text(snapshot))
    print(f"Page: {page}")


def show_live(x: object) -> Callable[[object], None]:
    """Show the graph; return a function that shows a later state in the same view.

    Outside of notebooks, where no view can follow, only the first state is shown.
    """
    shell, host = _notebook_shell(), marimo()
    if shell is not None:
        from gradviz.showing.notebook import notebook_of

        replace_snapshot = notebook_of(shell).show_live(x)
    elif host is not None:
        replace_snapshot = show_in(host, x)
    else:
        show(x)
        return lambda later: None
    return lambda later: replace_snapshot(as_snapshot(later))


def still_forms(snapshot: ir.Snapshot) -> dict[str, Any]:
    """Return the forms of a snapshot by MIME type, for the output of a cell."""
    from gradviz.render.mime import mimebundle

    shell = _notebook_shell()
    if shell is None:
        return mimebundle(snapshot)
    from gradviz.showing.notebook import notebook_of

    return notebook_of(shell).still_forms(snapshot)


def follow(source: Source, delay: float = 0.0) -> LiveView | None:
    """Show what a running cell does as it goes; None outside of notebooks.

    The view appears after ``delay`` seconds, or once there is something to show.
    """
    shell = _notebook_shell()
    if shell is None:
        return None
    from gradviz.showing.notebook import notebook_of

    return notebook_of(shell).follow(source, delay=delay)


def _notebook_shell() -> Any:
    """Return the running shell of a notebook, or None outside of one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if hasattr(shell, "kernel") else None
