"""What gradviz knows of the notebook around it: its cells and the views below them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.render.mime import mimebundle, stores_viewer
from gradviz.showing.live_view import LiveView
from gradviz.snapshots import as_snapshot

if TYPE_CHECKING:
    from gradviz.live import Source
    from gradviz.widget import GradvizWidget

Forms = tuple[dict[str, Any], dict[str, Any]]
"""Data and metadata by MIME type, as IPython's display takes them."""

Ending = Callable[[BaseException | None], None]
"""What is done when a cell has ended; receives what the cell raised."""


_ASIDE = "gradviz-command"  # runs beside the notebook, by the plugin


@dataclass(slots=True)
class _Carrier:
    """The output that holds the viewer for all others of the notebook."""

    cell: str  # its id, or its text where there are no ids
    outputs: Callable[[], bool]  # whether it holds it: large ones have no page


@dataclass(slots=True)
class _RunningCell:
    cell_id: str | None
    text: str
    endings: list[Ending] = field(default_factory=list[Ending])

    @property
    def key(self) -> str:
        """What stays the same when the cell runs again."""
        return self.cell_id or self.text


class Notebook:
    """Follows one shell: which cell runs, which file its code is, which widgets it has.

    Cells nest, because a cell may run others, as ``%%capture`` does. A cell that runs
    again closes the widgets that its last run left in the kernel.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.cells: dict[str, str] = {}  # file of a cell's code -> id of the cell
        self._running: list[_RunningCell] = []
        self._widgets: dict[str | None, list[GradvizWidget]] = {}
        self._carrier: _Carrier | None = None
        shell._gradviz_cells = self.cells  # the capture looks for it there
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)
        self._join_running_cell()

    def close(self) -> None:
        """Stop following the shell and close all widgets; the pictures stay."""
        self.shell.events.unregister("pre_run_cell", self._begin)
        self.shell.events.unregister("post_run_cell", self._end)
        self.close_widgets()
        del self.shell._gradviz_cells, self.shell._gradviz_notebook

    def show(self, x: object, *, text: str | None = None) -> None:
        """Show a snapshot, or what holds one, below the running cell.

        Where there is only text, ``text`` stands for it, if it is given.
        """
        self.show_live(x, text=text)

    def show_live(
        self, x: object, *, text: str | None = None
    ) -> Callable[[ir.Snapshot], None]:
        """Show a snapshot or what holds one; return what puts another in its place."""
        from IPython.display import display

        known = {id(widget) for widget in self._widgets.get(self.cell_id, [])}
        data, metadata = self.forms(x)
        if text is not None:
            data["text/plain"] = text
        display(data, metadata=metadata, raw=True)
        widget = next(iter(self._widgets.get(self.cell_id, [])[-1:]), None)
        if widget is None or id(widget) in known:  # there is no live view
            return lambda later: None

        def replace(later: ir.Snapshot) -> None:
            widget.snapshot = later

        return replace

    def follow(self, source: Source, *, delay: float) -> LiveView:
        """Return a view that follows a source from now on; it appears after a delay."""
        return LiveView(self.new_widget, source, delay)

    def new_widget(self, x: object) -> GradvizWidget | None:
        """Return a widget of the running cell; None where there can be none."""
        try:
            from gradviz.widget import GradvizWidget

            widget = GradvizWidget(x)
        except (ImportError, ExportError):  # no anywidget; or the view was never built
            return None
        self._widgets.setdefault(self.cell_id, []).append(widget)
        widget.viewer = self._carries(lambda: widget.stores_viewer)
        return widget

    def forms(self, x: object) -> Forms:
        """Return the forms to show below the running cell; a live view where it can."""
        widget = self.new_widget(x)
        if widget is None:
            return self.still_forms(as_snapshot(x)), {}
        return widget._repr_mimebundle_()

    def still_forms(self, snapshot: ir.Snapshot) -> dict[str, Any]:
        """Return the forms of a snapshot that no widget shows."""
        forms: dict[str, Any] = {}
        viewer = self._carries(lambda: stores_viewer(forms))
        forms.update(mimebundle(snapshot, viewer=viewer))
        return forms

    def _carries(self, holds: Callable[[], bool]) -> bool:
        """Tell whether a new output of the running cell has to hold the viewer.

        The first one of a notebook does. One that left the notebook is not known to be
        gone: then frames say what to do.
        """
        cell = self._cell
        if cell is None or cell.cell_id == _ASIDE:
            return True
        if self._carrier is not None and self._carrier.outputs():
            return False
        self._carrier = _Carrier(cell.key, holds)
        return True

    def close_widgets(self) -> int:
        """Free what the kernel keeps for its views; return how many there were."""
        widgets = [widget for cell in self._widgets.values() for widget in cell]
        self._widgets.clear()
        for widget in widgets:
            widget.close()
        return len(widgets)

    def at_end_of_cell(self, action: Ending) -> bool:
        """Run the action when the running cell has ended, however it ends.

        Returns False, and never runs it, if no cell is running.
        """
        if not self._running:
            return False
        self._running[-1].endings.append(action)
        return True

    @property
    def _cell(self) -> _RunningCell | None:
        """The innermost running cell that has an id, or else the innermost."""
        cells = self._running[::-1]
        return next((c for c in cells if c.cell_id), next(iter(cells), None))

    @property
    def cell_id(self) -> str | None:
        """The id of the running cell, if the notebook tells ids."""
        return None if self._cell is None else self._cell.cell_id

    # ---- events of the shell --------------------------------------------------------

    def _begin(self, info: Any) -> None:
        self._enter(getattr(info, "cell_id", None), info.raw_cell)

    def _enter(self, cell_id: str | None, text: str) -> None:
        cell = _RunningCell(cell_id, text)
        self._running.append(cell)
        if self._carrier is not None and self._carrier.cell == cell.key:
            self._carrier = None  # its outputs go
        for widget in self._widgets.pop(cell_id, ()) if cell_id else ():
            widget.close()
        if self.cell_id is not None:
            # Only a kernel names files by the raw text; and only there cells have ids.
            file = self.shell.compile.get_code_name(text, text, 0)
            self.cells[file] = self.cell_id

    def _end(self, result: Any) -> None:
        # A cell that was cancelled has no end; what it left above this one goes too.
        texts = [cell.text for cell in self._running]
        if result.info is None or result.info.raw_cell not in texts:
            return
        depth = len(texts) - 1 - texts[::-1].index(result.info.raw_cell)
        try:
            for ending in self._running[depth].endings:
                ending(result.error_before_exec or result.error_in_exec)
        finally:
            del self._running[depth:]

    def _join_running_cell(self) -> None:
        """Learn about the cell that is running now, whose beginning we missed."""
        kernel = getattr(self.shell, "kernel", None)
        request: dict[str, Any] = kernel.get_parent("shell") if kernel else {}
        text = request.get("content", {}).get("code")
        if isinstance(text, str):
            self._enter(request.get("metadata", {}).get("cellId"), text)


def notebook_of(shell: Any) -> Notebook:
    """Return the one Notebook of a shell, following it from now on."""
    known = getattr(shell, "_gradviz_notebook", None)
    if known is None:
        known = shell._gradviz_notebook = Notebook(shell)
    return known
