"""A view below a running cell that follows what the cell does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.live import LiveFeed, Sent, Source

if TYPE_CHECKING:
    from gradviz.widget import GradvizWidget


NewWidget: TypeAlias = "Callable[[object], GradvizWidget | None]"
"""Makes a widget of the running cell; None where there can be none."""


class LiveView:
    """Shows a source from the first time that it has something to show.

    The kernel's main thread only makes it and ends it; all else happens in the thread
    of its feed.
    """

    def __init__(self, new_widget: NewWidget, source: Source, delay: float) -> None:
        self._new_widget = new_widget
        self._widget: GradvizWidget | None = None
        self._display: Any = None
        self._feed = LiveFeed(self, source, delay=delay)
        self._feed.start()

    @property
    def sent(self) -> Sent:
        """What was sent so far."""
        return self._feed.sent

    def replace(self, snapshot: ir.Snapshot) -> int:
        """Show another snapshot; the first one makes the view."""
        if self._widget is not None:
            return self._widget.replace(snapshot)
        from IPython.display import display

        widget = self._new_widget(snapshot)
        if widget is None:
            raise ExportError("there can be no widget here")
        widget.endings.append(self._feed.close)
        data, metadata = widget._repr_mimebundle_()
        self._display = display(data, metadata=metadata, raw=True, display_id=True)
        self._widget = widget
        return widget._revision

    def send_live(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        """Send the page of the view a message."""
        if self._widget is not None:
            self._widget.send_live(content, buffers)

    def end(self, x: object) -> bool:
        """Show the last state, also in the saved output; False if nothing was shown."""
        self._feed.close()
        widget = self._widget
        if widget is None:
            return False
        with widget.hold_sync():  # the page draws it when the output has it too
            widget.show(x)
            data, metadata = widget._repr_mimebundle_()
            self._display.update(data, metadata=metadata, raw=True)
        widget.send_live({"progress": None}, [])  # it is over
        return True
