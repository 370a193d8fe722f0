"""The widget's side of the comm: what it syncs, and what it answers to the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradviz import widget
from gradviz.errors import CaptureError, ExportError
from gradviz.ir import columns as ir_columns
from gradviz.render import html
from gradviz.render.mime import SNAPSHOT, TEXT
from gradviz.widget import GradvizWidget
from tests.gradviz import samples
from tests.gradviz.hosts.notebooks import KeptComm, kept_comms

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def comms(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[KeptComm]]:
    """Stand-ins for the built front end, and the comms that widgets open."""
    stub = tmp_path / "widget.js"
    stub.write_text("export default {};", encoding="utf-8")
    monkeypatch.setattr(widget, "STUB", stub)
    with kept_comms(monkeypatch) as opened:
        yield opened


def ask(shown: GradvizWidget, content: object) -> None:
    """Send the kernel a custom message as the page does."""
    data = {"method": "custom", "content": content}
    shown._handle_msg({"content": {"data": data}, "buffers": []})


def own(comms: list[KeptComm]) -> KeptComm:
    """The comm of the widget itself; the other one is its layout's."""
    return comms[-1]


def messages(comms: list[KeptComm]) -> list[tuple[dict[str, Any], list[bytes]]]:
    return [(data, buffers) for kind, data, buffers in own(comms).sent[1:]]


def test_the_page_receives_a_stub_and_the_columns(comms: list[KeptComm]):
    snapshot = samples.cnn()
    shown = GradvizWidget(snapshot)
    kind, data, buffers = own(comms).sent[0]
    assert kind == "comm_open"
    assert data["state"]["_esm"] == "export default {};"
    assert data["buffer_paths"] == [["_snapshot"]]
    assert ir_columns.unpack(bytes(buffers[0])) == snapshot
    assert data["state"]["_key"] == shown.model_id == own(comms).comm_id


def test_the_bundle_is_sent_when_it_is_asked_for(comms: list[KeptComm], bundle: Path):
    shown = GradvizWidget(samples.mlp())
    assert messages(comms) == []
    ask(shown, "bundle")
    ((data, (module,)),) = messages(comms)
    assert data["content"] == {"bundle": shown._bundle}
    text = module.decode("utf-8")
    assert text.startswith(bundle.read_text(encoding="utf-8"))
    assert text.rstrip().endswith("export default globalThis.gradviz;")


def test_another_bundle_has_another_digest(comms: list[KeptComm], bundle: Path):
    first = GradvizWidget(samples.mlp())
    assert GradvizWidget(samples.cnn())._bundle == first._bundle
    bundle.write_text("globalThis.gradviz = {};", encoding="utf-8")
    assert GradvizWidget(samples.mlp())._bundle != first._bundle


def test_an_unknown_request_is_answered_with_a_sentence(comms: list[KeptComm]):
    ask(GradvizWidget(samples.mlp()), {"request": "tea"})
    ((data, buffers),) = messages(comms)
    assert data["content"]["error"].endswith("reload the page.")
    assert buffers == []


def test_a_bundle_that_went_missing_is_answered_with_a_sentence(
    comms: list[KeptComm], bundle: Path
):
    shown = GradvizWidget(samples.mlp())
    bundle.unlink()
    ask(shown, "bundle")
    ((data, _),) = messages(comms)
    assert "python -m tools.frontend" in data["content"]["error"]


def test_another_snapshot_is_sent_to_the_living_view(comms: list[KeptComm]):
    shown = GradvizWidget(samples.mlp())
    shown.snapshot = samples.cnn()
    ((data, (columns,)),) = messages(comms)
    assert data["method"] == "update"
    assert ir_columns.unpack(bytes(columns)) == samples.cnn() == shown.snapshot


def test_it_shows_itself_with_all_its_fallbacks(comms: list[KeptComm]):
    shown = GradvizWidget(samples.mlp())
    data, _ = shown._repr_mimebundle_()
    assert data[VIEW]["model_id"] == shown.model_id
    assert data[TEXT].startswith("mlp")
    assert len(data[SNAPSHOT]["nodes"]) == len(samples.mlp().nodes)


def test_closing_leaves_no_comm_open(comms: list[KeptComm]):
    shown = GradvizWidget(samples.mlp())
    shown.close()
    shown.close()
    assert [comm.sent[-1][0] for comm in comms] == ["comm_close", "comm_close"]


def test_what_has_no_graph_is_refused_before_a_comm_opens(comms: list[KeptComm]):
    with pytest.raises(CaptureError, match="got int"):
        GradvizWidget(3)
    assert comms == []


def test_a_front_end_that_was_never_built_is_named(
    comms: list[KeptComm], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(widget, "STUB", tmp_path / "nowhere.js")
    with pytest.raises(ExportError, match=r"nowhere\.js is missing; build it"):
        GradvizWidget(samples.mlp())
    monkeypatch.setattr(html, "BUNDLE", tmp_path / "nowhere-either.js")
    with pytest.raises(ExportError, match="is missing; build it"):
        GradvizWidget(samples.mlp())
