"""Why something failed, as text and as HTML for places without scripts."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given

from gradviz import ir
from gradviz.render import html as page
from gradviz.render.card import card, is_failure
from gradviz.render.mime import HTML, mimebundle
from gradviz.render.text import to_text
from gradviz.text.findings import findings_text
from tests.gradviz import samples
from tests.gradviz.ir import strategies

_TAGS = {"div", "p", "b", "code", "pre", "mark", "ul", "li", "i", "details", "summary"}


class Read(HTMLParser):
    """The text of a piece of HTML, and of each element by its tag."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(form)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.inside.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        for tag in self.open:
            self.inside[tag][-1] += data


def test_the_text_names_the_line_the_reason_and_the_fix():
    text = findings_text(samples.overwritten(), width=60)
    assert text.split("\n\n")[0].splitlines() == [
        "error GV101 inplace-saved-output",
        "  Cell In[4]:6",
        "    y += 1",
        "    ^^^^^^",
        "  ExpBackward0 saved its result at version 0, and `y += 1`",
        "  wrote over it: it is at version 1 now, so backward()",
        "  cannot use it.",
        "  Fix: Write `y = y + 1`, which makes a new tensor.",
        "  showed at: Cell In[4]:15  loss.backward()",
        "  saved here: Cell In[4]:5  y = x.exp()",
    ]


def test_a_view_as_text_begins_with_the_findings():
    lines = to_text(samples.overwritten()).splitlines()
    assert lines[2] == "error GV101 inplace-saved-output"
    assert lines.index("warning GV201 detached-branch") < lines.index(
        next(line for line in lines if line.startswith("op "))
    )
    assert "Nothing was recorded." not in to_text(samples.raised())


def test_the_card_marks_the_expression_and_lists_related_lines():
    seen = Read(card(samples.overwritten()))
    assert seen.inside["p"][0] == "✖ error GV101 inplace-saved-output"
    assert seen.inside["mark"][0] == "y += 1"
    assert "With an example: gradviz explain GV101" in seen.inside["p"]
    assert seen.inside["pre"][1] == "teacher = (x * 2).detach()"
    assert seen.inside["mark"][1] == "(x * 2).detach()"
    assert "Fix Write y = y + 1, which makes a new tensor." in seen.inside["p"]
    assert seen.inside["li"][0] == "showed at: Cell In[4]:15 loss.backward()"


def test_an_expression_of_several_lines_is_marked_on_each():
    text = "    y = f(\n        x,\n    )[0]"
    site = ir.Site("a.py", 3, 5, 9, 6, text)
    finding = ir.Finding("GV1", "slug", "error", "Why.", culprit=0)
    seen = Read(card(ir.Snapshot("p", findings=(finding,), sites=(site,))))
    assert seen.inside["pre"] == ["y = f(\n    x,\n)[0]"]
    assert seen.inside["mark"] == ["f(", "x,", ")"]


def test_only_failures_come_before_their_graph(bundle: Path):
    snapshot = samples.overwritten()
    form = mimebundle(snapshot)[HTML]
    assert form.index("GV101") < form.index("<summary>Show in graph</summary>")
    assert form.count("<iframe") == 1
    calm = replace(snapshot, findings=snapshot.findings[1:])
    assert not is_failure(calm)
    assert mimebundle(calm)[HTML].startswith("<iframe")


def test_the_card_needs_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page, "BUNDLE", tmp_path / "never-built.js")
    assert mimebundle(samples.overwritten())[HTML] == card(samples.overwritten())


def test_many_findings_are_counted():
    one = ir.Finding("GV1", "slug", "error", "Why.")
    many = ir.Snapshot("p", findings=(one,) * 9)
    assert "<summary>8 more findings</summary>" in card(many)
    assert card(many).count("Why.") == 5
    assert "<p>… and 4 more</p>" in card(many)
    assert findings_text(many, limit=1).endswith("… 8 more findings")


@given(strategies.snapshots())
def test_any_finding_is_safe(snapshot: ir.Snapshot):
    seen = Read(card(snapshot) if snapshot.findings else "")
    assert not seen.open
    assert seen.tags <= _TAGS
    assert seen.attributes <= {"style"}
    for text in (seen.text, findings_text(snapshot)):
        assert not set(text) & set("\x00\x1b\u202e\r\ud800")


def test_strangers_words_stay_words():
    seen = Read(card(samples.hostile()))
    assert "<script>alert(1)</script>" in seen.text
    assert "script" not in seen.tags
