"""A page that follows a live feed with no kernel between them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from gradviz import ir
from gradviz.ir import columns as ir_columns
from gradviz.render.html import read_bundle

# A model as notebooks have it; those who send wait until the view has drawn.
MOUNT = """([snapshot, revision]) => {
  const bytes = (text) =>
    new DataView(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer);
  const traits = { _snapshot: bytes(snapshot), _revision: revision };
  const heard = {};
  const at = (event) => (heard[event] ??= new Set());
  const tell = (event, ...args) => at(event).forEach((call) => call(...args));
  const drawn = () => new Promise((done) => requestAnimationFrame(() => done()));
  window.kernel = {
    replace(snapshot, revision) {
      Object.assign(traits, { _snapshot: bytes(snapshot), _revision: revision });
      tell("change:_snapshot");
    },
    send(messages) {
      for (const [content, buffers] of messages)
        tell("msg:custom", content, buffers.map(bytes));
      return drawn();
    },
  };
  const model = {
    get: (trait) => traits[trait],
    on: (event, call) => at(event).add(call),
    off: (event, call) => at(event).delete(call),
    send: () => {},
  };
  const el = document.body.appendChild(document.createElement("div"));
  gradviz.widget({ model, el });
}"""


class LivePage:
    """The view of a feed, drawn by a page.

    Args:
        page: The page.
        folder: For the page's file.
        at_once: How many messages reach the view before it draws, as from a kernel
            that is faster; what waits for the next goes with `flush`.
    """

    def __init__(self, page: Page, folder: Path, *, at_once: int = 1) -> None:
        self._page = page
        self._at_once = at_once
        self._waiting: list[tuple[dict[str, Any], list[str]]] = []
        self._revision = 0
        path = folder / "live.html"
        path.write_text("<!doctype html><title>live</title><body>", encoding="utf-8")
        page.goto(path.as_uri())
        page.add_script_tag(content=read_bundle())

    def replace(self, snapshot: ir.Snapshot) -> int:
        """Show another snapshot; return the number of this revision."""
        assert not self._waiting
        self._revision += 1
        packed = _text(ir_columns.pack(snapshot))
        call = "([data, revision]) => kernel.replace(data, revision)"
        self._page.evaluate(
            MOUNT if self._revision == 1 else call, [packed, self._revision]
        )
        return self._revision

    def send_live(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        """Send a message, once there are enough, and wait until they are drawn."""
        self._waiting.append((content, [_text(each) for each in buffers]))
        if len(self._waiting) >= self._at_once:
            self.flush()

    def flush(self) -> None:
        """Send what waits for the next message, and wait until it is drawn."""
        self._page.evaluate("(messages) => kernel.send(messages)", self._waiting)
        self._waiting = []


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
