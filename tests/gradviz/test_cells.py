"""Cells that fail: notes on their errors, cards below them, and IPython left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gradviz import widget
from tests.gradviz.notebooks import Cells, kept_comms, notebook_shell

SETUP = """\
%load_ext gradviz
import gradtape as torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
"""


@pytest.fixture
def cells(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cells]:
    stub = tmp_path / "widget.js"
    stub.write_text("export default {};", encoding="utf-8")
    monkeypatch.setattr(widget, "STUB", stub)
    with kept_comms(monkeypatch), notebook_shell() as cells:
        assert cells.run(SETUP).success
        yield cells
        cells.run("%unload_ext gradviz")


def notes(error: BaseException | None) -> str:
    return "\n".join(getattr(error, "__notes__", []))


def test_a_recorded_cell_that_raises_names_the_line_in_its_traceback(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    ended = cells.run("%%gradviz\ny = x.exp()\ny += 1\ny.sum().backward()")
    assert "inplace-saved-output" in notes(ended.error_in_exec)
    assert "y += 1" in notes(ended.error_in_exec)
    printed = capsys.readouterr().out
    assert "y += 1" in printed
    assert "_backward.py" not in printed  # the engine's frames say nothing
    (graph,) = cells.graphs
    assert graph["findings"][0]["slug"] == "inplace-saved-output"


def test_following_finds_causes_in_earlier_cells(cells: Cells):
    cells.run("%gradviz on")
    assert cells.graphs == []
    for cell in ("y = x.exp()", "y += 1"):
        assert cells.run(cell).success
    ended = cells.run("y.sum().backward()")
    assert "y += 1" in notes(ended.error_in_exec)
    (card,) = cells.graphs
    assert card["title"].startswith("RuntimeError: one of the variables")
    assert card["findings"][0]["slug"] == "inplace-saved-output"


def test_an_error_of_another_kind_gets_neither_note_nor_card(cells: Cells):
    cells.run("%gradviz on")
    cells.run("y = x.exp()\ny += 1\ny.sum().backward()")
    ended = cells.run("1 / 0")
    assert notes(ended.error_in_exec) == ""
    assert len(cells.graphs) == 1


def test_off_leaves_ipython_as_it_was(cells: Cells):
    shell = cells.shell
    before = shell.custom_exceptions, shell.CustomTB, dict(shell.events.callbacks)
    callbacks = {name: list(each) for name, each in shell.events.callbacks.items()}
    cells.run("%gradviz on")
    assert shell.custom_exceptions == (Exception,)
    cells.run("%gradviz off")
    assert (shell.custom_exceptions, shell.CustomTB) == before[:2]
    assert shell.events.callbacks == callbacks
    cells.run("%%gradviz\n1 / 0")
    assert (shell.custom_exceptions, shell.CustomTB) == before[:2]
    ended = cells.run("y = x.exp()\ny += 1\ny.sum().backward()")
    assert "gradviz" not in notes(ended.error_in_exec)
    assert "GV1" not in notes(ended.error_in_exec)


def test_a_handler_of_the_users_still_gets_its_errors(cells: Cells):
    seen: list[str] = []

    def mine(shell, kind, error, trace, tb_offset=None):
        seen.append(f"{kind.__name__}: {error}")

    cells.shell.set_custom_exc((ZeroDivisionError,), mine)
    cells.run("%gradviz on")
    cells.run("1 / 0")
    cells.run("%gradviz off")
    cells.run("1 / 0")
    cells.shell.set_custom_exc((), None)
    assert seen == ["ZeroDivisionError: division by zero"] * 2


def test_an_engine_imported_later_is_followed_too(cells: Cells):
    pytest.importorskip("torch")
    cells.run("%gradviz on")
    cells.run("import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)")
    cells.run("y = w.exp()\ny += 1")
    ended = cells.run("y.sum().backward()")
    assert "y += 1" in notes(ended.error_in_exec)


def test_release_lets_go_of_what_the_last_error_keeps_alive(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    cells.run("""
import weakref
kept = []
def train():
    activation = x.exp() * 2
    kept.append(weakref.ref(activation))
    (activation * x).backward()
""")
    assert not cells.run("train()").success
    assert cells.run("assert kept[0]() is not None").success
    capsys.readouterr()
    cells.run("%gradviz release")
    assert capsys.readouterr().out.startswith("Released the variables of ")
    assert cells.run("import gc; gc.collect(); assert kept[0]() is None").success
    assert cells.run("assert x.tolist() == [1.0, 2.0]").success
