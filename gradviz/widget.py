"""The Jupyter widget: a snapshot that lives in the kernel and is drawn in the page."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from gradviz import ir
from gradviz.errors import ExportError
from gradviz.ir import columns as ir_columns
from gradviz.render.html import read_bundle
from gradviz.render.mime import mimebundle, stores_viewer
from gradviz.services import Services, services_of
from gradviz.snapshots import as_snapshot

STUB = Path(__file__).parent / "render" / "static" / "widget.js"

# The page imports the bundle as a module, whose export is what the bundle defines; it
# reads the bundle again where a user saves a page.
_AS_MODULE = """
globalThis.gradviz.source = import.meta.url;
export default globalThis.gradviz;
"""

_UNKNOWN_REQUEST = (
    "The page asked the kernel for something that this version of gradviz does not "
    "know; reload the page."
)


class GradvizWidget(anywidget.AnyWidget):
    """A view of a graph below a cell; assign to ``snapshot`` to show another one.

    ``x`` is a snapshot, a recorder, or a tensor with a graph behind it. Raises
    CaptureError where there is no graph, and ExportError if the front end was never
    built.

    >>> GradvizWidget(loss)  # doctest: +SKIP
    """

    # Synced with every widget, so it is a stub; the page asks for the bundle once.
    _esm = traitlets.Unicode().tag(sync=True)
    _bundle = traitlets.Unicode().tag(sync=True)  # digest of the bundle
    _key = traitlets.Unicode().tag(
        sync=True
    )  # the model's id, which the page cannot see
    _snapshot = traitlets.Bytes().tag(sync=True)  # columns in a zlib stream
    _revision = traitlets.Int().tag(sync=True)  # how often the snapshot was replaced
    _services = traitlets.Dict().tag(sync=True)  # what the page can ask for, by name

    _answers = Services({})  # of a widget that was refused

    def __init__(self, x: object) -> None:
        self.endings: list[Callable[[], None]] = []  # called when it is closed
        self.viewer = True  # whether saved outputs are to hold the viewer
        self.stores_viewer = True  # whether they do: a large one has no page
        self._shown = as_snapshot(x)
        self._answers = Services(services_of(x))
        key = uuid.uuid4().hex
        super().__init__(
            model_id=key,
            _key=key,
            _esm=_read_stub(),
            _bundle=hashlib.sha256(_bundle_module()).hexdigest()[:16],
            _snapshot=ir_columns.pack(self._shown),
            _services=self._answers.states(),
        )
        self.on_msg(self._answer)

    @property
    def snapshot(self) -> ir.Snapshot:
        """The snapshot that the views of this widget show."""
        return self._shown

    @snapshot.setter
    def snapshot(self, x: object) -> None:
        self.replace(as_snapshot(x))

    def show(self, x: object) -> None:
        """Show a snapshot or what holds one, with what the page can ask of it."""
        self._answers.close()
        self._answers = Services(services_of(x))
        self.snapshot = x

    def replace(self, snapshot: ir.Snapshot) -> int:
        """Show a snapshot that is known to be sound; return its revision."""
        self._shown = snapshot
        with self.hold_sync():
            self._snapshot = ir_columns.pack(snapshot)
            self._revision += 1
            self._services = self._answers.states()
        return self._revision

    def send_live(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        """Send a message about the present revision to the pages that are open."""
        self.send(content, buffers=list(buffers))

    def _answer(self, _: GradvizWidget, request: object, buffers: object) -> None:
        """Do what the page asks: send the bundle, or let a service answer."""
        if self._answers.answer(request):
            self._services = self._answers.states()
            return
        if request != "bundle":
            self.send({"error": _UNKNOWN_REQUEST})
            return
        try:
            module = _bundle_module()
        except ExportError as error:
            self.send({"error": str(error)})
        else:
            self.send({"bundle": self._bundle}, buffers=[module])

    def close(self) -> None:
        """Free what the kernel keeps; views in other hosts than JupyterLab go too."""
        for end in self.endings:
            end()
        self._answers.close()
        if self.comm is not None:
            self.layout.close()
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the view with its fallbacks, for places where no kernel is left."""
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        forms = mimebundle(self._shown, viewer=self.viewer)
        self.stores_viewer = stores_viewer(forms)
        return {**data, **forms}, metadata


def _bundle_module() -> bytes:
    return (read_bundle() + _AS_MODULE).encode("utf-8")


def _read_stub() -> str:
    try:
        return STUB.read_text(encoding="utf-8")
    except OSError:
        raise ExportError(
            f"The widget's script {STUB} is missing; build it with "
            "`python -m tools.frontend`, or install gradviz from a wheel, which has it."
        ) from None
