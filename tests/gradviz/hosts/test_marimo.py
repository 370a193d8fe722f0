"""In marimo, which has no IPython, a graph is shown through its own outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gradviz
from gradviz import widget
from gradviz.showing import show as showing
from gradviz.widget import GradvizWidget
from tests.gradviz import samples
from tests.gradviz.hosts.notebooks import kept_comms


@pytest.fixture
def outputs(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Any]]:
    """A cell of a marimo notebook that runs: what it was given to show."""
    stub = tmp_path / "widget.js"
    stub.write_text("export default {};", encoding="utf-8")
    monkeypatch.setattr(widget, "STUB", stub)
    shown: list[Any] = []
    host = SimpleNamespace(
        running_in_notebook=lambda: True, output=SimpleNamespace(append=shown.append)
    )
    monkeypatch.setitem(sys.modules, "marimo", host)
    with kept_comms(monkeypatch):
        yield shown


def test_a_graph_is_shown_as_a_widget_below_the_cell(outputs: list[Any], capsys: Any):
    gradviz.show(samples.mlp())
    (shown,) = outputs
    assert isinstance(shown, GradvizWidget)
    assert shown.snapshot == samples.mlp()
    assert capsys.readouterr().out == ""


def test_a_later_state_takes_its_place(outputs: list[Any]):
    later = showing.show_live(samples.mlp())
    later(samples.cnn())
    (shown,) = outputs
    assert shown.snapshot == samples.cnn()


def test_a_script_that_imports_marimo_is_no_notebook(
    outputs: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(sys.modules["marimo"], "running_in_notebook", lambda: False)
    monkeypatch.setattr("gradviz.showing.browser.open_page", lambda page: True)
    gradviz.show(samples.mlp())
    assert outputs == []
