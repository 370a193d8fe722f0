"""The widget where no plugin is and little is allowed, as in a webview."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from gradviz import ir
from gradviz.ir import columns as ir_columns
from gradviz.widget import STUB, _bundle_module
from tests.browser.conftest import PATIENCE_MS, Watched
from tests.browser.test_graph import chain, expect_boxes

expect.set_options(timeout=PATIENCE_MS)

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:; child-src https: data:"
)

# A model as anywidget hands it out: traits, and binary messages in both directions.
HOST = """
const bytes = (text) =>
  new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const data = JSON.parse(document.getElementById("kernel").textContent);
const listeners = {};
const model = {
  get: (trait) => (trait === "_snapshot" ? bytes(data._snapshot) : data[trait]),
  on: (event, callback) => (listeners[event] ??= []).push(callback),
  off: () => {},
  send: (content) => {
    asked.push(content);
    for (const callback of listeners["msg:custom"] ?? [])
      callback({ bundle: data._bundle }, [bytes(data.bundle)]);
  },
};
globalThis.asked = [];
const module = new Blob([data.stub], { type: "text/javascript" });
import(URL.createObjectURL(module)).then(({ default: widget }) => {
  widget.initialize({ model });
  widget.render({ model, el: document.getElementById("output") });
});
"""


def webview(snapshot: ir.Snapshot, path: Path) -> Path:
    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    kernel = {
        "stub": STUB.read_text(encoding="utf-8"),
        "bundle": text(_bundle_module()),
        "_bundle": "digest",
        "_key": "key",
        "_snapshot": text(ir_columns.pack(snapshot)),
        "_revision": 0,
        "_services": {},
    }
    data = json.dumps(kernel).replace("<", "\\u003c")
    path.write_text(
        '<!doctype html><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<div id="output"></div>'
        f'<script type="application/json" id="kernel">{data}</script>'
        f"<script>{HOST}</script>",
        encoding="utf-8",
    )
    return path


def test_the_view_comes_from_the_kernel_and_needs_no_worker(
    new_page: Callable[..., Watched], tmp_path: Path
) -> None:
    path = webview(chain(3_000), tmp_path / "webview.html")
    watched = new_page()
    page = watched.page
    page.goto(path.as_uri())
    expect(page.get_by_test_id("node-count")).to_have_text("3,000 nodes")
    page.get_by_role("button", name="Expand all scopes").click()
    expect_boxes(page, 3_000)  # too many to lay out at once, but workers are forbidden
    assert page.evaluate("asked") == ["bundle"]
    refused = [text for text in watched.errors if "Content Security Policy" in text]
    assert watched.errors == refused
    assert refused
    assert all("worker" in text for text in refused)
    own = [u for u in watched.requests if not u.startswith(("data:", "blob:"))]
    assert own == [path.as_uri()]
