"""A page in Firefox: it opens, draws, and nodes are selected by click and by key.

Playwright drives a Firefox of its own alone; the stock one speaks WebDriver BiDi.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import websocket

import gradviz
from tests.browser.conftest import PATIENCE_MS
from tests.gradviz import samples

pytestmark = pytest.mark.slow

NAMES = ("firefox", "firefox-esr")
SECONDS = PATIENCE_MS / 1000


@dataclass
class Firefox:
    """One window; every answer is waited for, what it logs is kept."""

    socket: websocket.WebSocket
    context: str = ""
    complaints: list[str] = field(default_factory=list[str])
    _numbers: count[int] = field(default_factory=count)

    def ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        said = {"id": number, "method": method, "params": params}
        self.socket.send(json.dumps(said))
        while True:
            reply = json.loads(self.socket.recv())
            if reply.get("method") == "log.entryAdded":
                entry = reply["params"]
                if entry["level"] == "error":
                    self.complaints.append(str(entry["text"]))
            if reply.get("id") == number:
                assert reply["type"] == "success", reply
                return reply["result"]

    def open(self, url: str) -> None:
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        events = {"events": ["log.entryAdded"]}
        self.ask("session.subscribe", **events)
        size = {"width": 1280, "height": 900}
        self.ask("browsingContext.setViewport", context=self.context, viewport=size)
        where = {"context": self.context, "url": url, "wait": "complete"}
        self.ask("browsingContext.navigate", **where)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a promise, a text or a number."""
        told = self.ask(
            "script.evaluate",
            expression=expression,
            target={"context": self.context},
            awaitPromise=True,
        )
        assert told["type"] == "success", told
        return told["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Return the first value that counts as true, looked for at every frame."""
        return self.evaluate(
            f"""new Promise((resolve, reject) => {{
              const end = performance.now() + {PATIENCE_MS};
              const look = () => {{
                const value = ({expression});
                if (value) resolve(value);
                else if (performance.now() > end) reject(new Error("waited in vain"));
                else requestAnimationFrame(look);
              }};
              look();
            }})"""
        )

    def act(self, kind: str, *actions: dict[str, Any]) -> None:
        source = {"type": kind, "id": kind, "actions": list(actions)}
        self.ask("input.performActions", context=self.context, actions=[source])


TWO_FRAMES = """
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
"""
FIND = """
  (function find(root, id) {
    const own = root.querySelector(`[data-testid="${id}"]`);
    if (own) return own;
    for (const each of root.querySelectorAll("*")) {
      const inner = each.shadowRoot && find(each.shadowRoot, id);
      if (inner) return inner;
    }
    return null;
  })
"""


def text_of(name: str) -> str:
    """Return an expression for the text of an element, in shadow roots as well."""
    return f"({FIND}(document, {name!r})?.textContent ?? '')"


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Generator[Firefox]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("There is no Firefox here (Debian: apt-get install firefox-esr).")
    profile = tmp_path_factory.mktemp("firefox")
    command = [path, "--headless", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(
        [*command, "--remote-debugging-port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            found = (re.search(r"listening on (ws://\S+)", line) for line in lines)
            address = next(match[1] for match in found if match)
            socket = websocket.create_connection(
                f"{address}/session", timeout=SECONDS, suppress_origin=True
            )
            window = Firefox(socket)
            window.ask("session.new", capabilities={})
            yield window
            socket.close()
        finally:
            process.terminate()


def test_a_page_opens_draws_and_selects_by_click_and_by_key(
    firefox: Firefox, tmp_path: Path
):
    page = gradviz.export_html(samples.mlp(), tmp_path / "graph.html")
    firefox.open(page.as_uri())
    boxes = firefox.wait_for(text_of("box-count"))
    assert re.fullmatch(r"\d+ boxes shown", boxes)
    firefox.wait_for("performance.getEntriesByName('gradviz:painted').length > 0")

    key = {"value": "\ue013"}  # ArrowUp
    firefox.act("key", {"type": "keyDown", **key}, {"type": "keyUp", **key})
    firefox.wait_for(f"{text_of('live')}.includes('Selected')")

    escape = {"value": "\ue00c"}
    firefox.act("key", {"type": "keyDown", **escape}, {"type": "keyUp", **escape})
    firefox.wait_for(f"!{text_of('live')}.includes('Selected')")
    place = firefox.evaluate(
        f"JSON.stringify({FIND}(document, 'graph').getBoundingClientRect())"
    )
    box = json.loads(place)
    hovered = text_of("hovered")
    for step in range(int(box["height"]) // 12):
        at = {
            "x": int(box["x"] + box["width"] / 2),
            "y": int(box["y"] + box["height"] - 6 - 12 * step),
        }
        firefox.act("pointer", {"type": "pointerMove", **at})
        firefox.evaluate(TWO_FRAMES)
        if firefox.evaluate(hovered):
            break
    press = {"button": 0}
    firefox.act(
        "pointer",
        {"type": "pointerDown", **press},
        {"type": "pointerUp", **press},
    )
    firefox.wait_for(f"{text_of('live')}.includes('Selected')")
    assert firefox.complaints == []
