"""The forms of a snapshot in a notebook: which there are, and what is too large."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from pathlib import Path

import pytest

from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.render import html as page
from gradviz.render import mime
from gradviz.render.mime import (
    HTML,
    SNAPSHOT,
    SVG,
    TEXT,
    mimebundle,
    stores_viewer,
)
from gradviz.render.text import to_text
from gradviz.snapshots import packed_data
from tests.gradviz import samples


def frame_of(form: str) -> str:
    (source,) = re.findall(r'srcdoc="([^"]*)"', form)
    return html.unescape(source)


def framed_page(form: str) -> str:
    """Unpack the page inside the frame of an HTML form, as its loader does."""
    (packed,) = re.findall(r'id="page">([^<]*)<', frame_of(form))
    return zlib.decompress(base64.b64decode(packed)).decode("utf-8")


@pytest.mark.parametrize("name", sorted(samples.SAMPLES))
def test_every_form_tells_the_same_snapshot(name: str, bundle: Path):
    snapshot = samples.SAMPLES[name]()
    forms = mimebundle(snapshot)
    # As text, because NaN equals nothing; half a surrogate pair becomes a "?".
    whole = ir_json.dumps(snapshot)
    from_json = ir_json.loads(json.dumps(forms[SNAPSHOT]))
    assert ir_json.dumps(from_json) == whole.replace(r"\ud800", "?")
    assert forms[TEXT] == to_text(snapshot)
    if not snapshot.nodes and snapshot.findings:
        assert "<iframe" not in forms[HTML]  # the card says all of it
        return
    data = packed_data(framed_page(forms[HTML]))
    assert ir_json.dumps(ir_columns.unpack(data)) == whole


def test_the_json_is_strict_even_with_nan(bundle: Path):
    forms = mimebundle(samples.hostile())
    text = json.dumps(forms, allow_nan=False, ensure_ascii=False)
    assert '"NaN"' in text
    text.encode("utf-8")  # and can be sent and saved


@pytest.mark.parametrize("quiet", [True, False])
def test_the_page_is_locked_into_its_frame(bundle: Path, quiet: bool):
    form = mimebundle(samples.mlp() if quiet else samples.hostile())[HTML]
    assert 'sandbox="allow-scripts allow-downloads"' in form
    assert "<script" not in form  # it is escaped inside the frame's attribute
    assert form.count("<iframe") == 1


def test_where_frames_and_styles_are_removed_the_text_is_left(bundle: Path):
    snapshot = samples.cnn()
    form = mimebundle(snapshot)[HTML]
    left = re.sub(r"<iframe.*?</iframe>", "", form, flags=re.DOTALL)
    (text,) = re.findall(r"<pre[^>]*>(.*)</pre>", left, flags=re.DOTALL)
    assert html.unescape(text) == to_text(snapshot)


def test_where_frames_are_removed_a_picture_is_left(bundle: Path):
    form = mimebundle(samples.cnn())[HTML]
    left = re.sub(r"<iframe.*?</iframe>", "", form, flags=re.DOTALL)
    (packed,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', left)
    picture = base64.b64decode(packed).decode()
    assert picture == mimebundle(samples.cnn())[SVG]
    assert len(packed) < 40_000
    # Hidden where frames show; readers that remove frames remove styles, too.
    assert left.count('style="display: none"') == 2


def test_without_the_viewer_a_frame_says_what_to_do_and_holds_none(bundle: Path):
    bundle.write_text("viewer();" * 9, encoding="utf-8")
    whole, borrowing = (
        mimebundle(samples.mlp()),
        mimebundle(samples.mlp(), viewer=False),
    )
    assert [stores_viewer(each) for each in (whole, borrowing)] == [True, False]
    assert framed_page(whole[HTML]) == framed_page(borrowing[HTML])
    assert "restart the kernel and run all" in frame_of(borrowing[HTML])
    assert "restart the kernel" not in frame_of(whole[HTML])
    assert not stores_viewer({SVG: "<svg/>"})


def test_a_small_graph_has_a_picture_and_a_large_one_has_none(bundle: Path):
    assert mimebundle(samples.cnn())[SVG].startswith("<svg")
    assert SVG not in mimebundle(samples.chain(1_000))
    assert SVG not in mimebundle(samples.empty())


def test_what_is_too_large_for_a_notebook_is_left_out(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mime, "MAX_JSON", 1_000)
    monkeypatch.setattr(mime, "MAX_HTML", 1_000)
    assert mimebundle(samples.mlp()).keys() == {TEXT, SVG}


def test_ten_thousand_nodes_stay_below_ten_megabytes(bundle: Path):
    forms = mimebundle(samples.chain(10_000))
    assert len(json.dumps(forms)) < 10_000_000
    assert len(forms[SNAPSHOT]["nodes"]) == 10_001


def test_without_the_page_script_the_other_forms_remain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(page, "BUNDLE", tmp_path / "never-built.js")
    assert mimebundle(samples.mlp()).keys() == {TEXT, SNAPSHOT, SVG}
