"""The page: one file, offline, in which no label becomes markup."""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gradviz.errors import ExportError
from gradviz.ir import columns as ir_columns
from gradviz.render import html
from gradviz.render.html import read_bundle, to_html
from gradviz.snapshots import packed_data
from tests.gradviz import samples

pytestmark = pytest.mark.usefixtures("bundle")


class Page(HTMLParser):
    """What a browser would see: the elements, and the text inside each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data

    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_the_page_is_the_same_whatever_the_labels(name: str):
    page = Page(to_html(samples.SAMPLES[name]()))
    assert page.tags() == Page(to_html(samples.empty())).tags()
    assert page.tags().count("script") == 3


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_the_page_holds_the_whole_snapshot(name: str):
    snapshot = samples.SAMPLES[name]()
    back = ir_columns.unpack(packed_data(to_html(snapshot)))
    assert repr(back) == repr(snapshot)


def test_the_data_block_follows_the_contract():
    page = Page(to_html(samples.mlp()))
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts[0] == {
        "type": "application/octet-stream;base64",
        "id": "gradviz-data",
    }
    digest = hashlib.sha256(read_bundle().encode()).digest()
    integrity = f"sha256-{base64.b64encode(digest).decode()}"
    bundle = {**scripts[0], "id": "gradviz-bundle", "data-integrity": integrity}
    assert scripts[1:] == [bundle, {}]
    assert ("div", {"id": "gradviz", "data-view": ""}) in page.elements


def test_the_policy_forbids_every_connection():
    page = Page(to_html(samples.mlp()))
    policies = [
        attributes["content"] or ""
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in policies[0].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'none'"
    inline = to_html(samples.mlp()).split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}' blob:"
    assert rules["worker-src"] == "blob:"
    assert "http" not in policies[0].replace("http-equiv", "")


def test_no_attribute_leads_out_of_the_page():
    for tag, attributes in Page(to_html(samples.hostile())).elements:
        for name in ("src", "href", "action", "srcset"):
            assert (attributes.get(name) or "data:").startswith("data:"), tag


def test_the_fallback_is_the_text_view():
    page = Page(to_html(samples.cnn()))
    assert "conv2d" in page.texts["pre"]
    assert "net.py:5" in page.texts["pre"]


def test_the_title_is_text():
    page = Page(to_html(samples.hostile()))
    assert page.texts["title"].startswith("</script><script>alert(1)")
    assert "\u202e" not in to_html(samples.hostile())
    assert Page(to_html(samples.empty())).texts["title"] == "gradviz"


def test_a_dollar_in_a_label_is_only_a_dollar():
    snapshot = replace(samples.mlp(), title="$bundle ${data} $$")
    assert Page(to_html(snapshot)).texts["title"] == "$bundle ${data} $$"


def test_the_bundle_comes_packed_and_cannot_end_its_element(bundle: Path):
    script = 'let a = "</script>", b = "</SCRIPT>", c = "<!-- é <script";' * 99
    bundle.write_text(script, encoding="utf-8")
    text = to_html(samples.empty())
    page = Page(text)
    assert page.tags().count("script") == 3
    assert len(text) < len(script)
    packed = text.split('id="gradviz-bundle"')[1].split(">")[1].split("<")[0]
    assert zlib.decompress(base64.b64decode(packed)).decode("utf-8") == script


def test_a_bundle_that_was_never_built_names_the_command(monkeypatch):
    monkeypatch.setattr(html, "BUNDLE", Path("/nowhere/gradviz.js"))
    with pytest.raises(ExportError, match=r"python -m tools\.frontend") as caught:
        to_html(samples.empty())
    assert "/nowhere/gradviz.js" in str(caught.value)


def test_other_pages_hold_no_data():
    with pytest.raises(ValueError, match="not a page of gradviz"):
        packed_data("<html><script>1</script></html>")
