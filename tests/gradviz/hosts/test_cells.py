"""Cells that fail: notes on their errors, cards below them, and IPython left alone."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradviz import widget
from tests.gradviz.hosts.notebooks import Cells, kept_comms, notebook_shell

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
    assert "_engine" not in printed  # the engine's frames say nothing
    (graph,) = cells.graphs
    assert graph["findings"][0]["slug"] == "inplace-saved-output"


def test_following_finds_causes_in_earlier_cells(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    cells.run("%gradviz on")
    assert "gradviz follows every cell from here on" in capsys.readouterr().out
    assert cells.graphs == []
    for cell in ("y = x.exp()", "y += 1"):
        assert cells.run(cell).success
    ended = cells.run("y.sum().backward()")
    assert "y += 1" in notes(ended.error_in_exec)
    (card,) = cells.graphs
    assert card["title"] == "RuntimeError"
    raised = [each["text"] for each in card["events"] if each["kind"] == "error"]
    assert raised[0].startswith("RuntimeError: one of the variables")
    assert card["findings"][0]["slug"] == "inplace-saved-output"


def test_an_engine_that_cannot_be_followed_is_said_once(
    cells: Cells, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "__version__", type(torch.__version__)("2.9.1"))
    cells.run("%gradviz on")
    for cell in ("y = x.exp()", "y += 1"):
        assert cells.run(cell).success
    ended = cells.run("y.sum().backward()")
    assert "y += 1" in notes(ended.error_in_exec)
    assert capsys.readouterr().out.count("PyTorch 2.10 or newer") == 1


FIRST_USE = """\
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext gradviz")
assert not {{"torch", "gradtape"}} & {{*sys.modules}}
shell.run_cell({before!r})
shell.run_cell({cell!r})
"""


@pytest.mark.parametrize("magic", ["%gradviz on", "%%gradviz"])
def test_the_cell_that_imports_an_engine_is_seen(engine: str, magic: str):
    cell = (
        f"import {engine} as lib\nw = lib.ones(3, requires_grad=True)\n"
        "y = w.exp()\ny += 1\ny.sum().backward()"
    )
    before, cell = ("", f"{magic}\n{cell}") if "%%" in magic else (magic, cell)
    ended = subprocess.run(
        [sys.executable, "-c", FIRST_USE.format(before=before, cell=cell)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "inplace-saved-output" in ended.stdout, ended.stderr


def test_plain_text_says_a_finding_once(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    cells.run("%gradviz on")
    cells.run("y = x.exp()\ny += 1\ny.sum().backward()")
    (card,) = cells.shown
    printed = capsys.readouterr().out + card["text/plain"]
    assert printed.count("inplace-saved-output") == 1
    assert "sum" in card["text/plain"]


def test_the_engine_that_the_cell_used_explains_its_error(cells: Cells):
    pytest.importorskip("torch")
    cells.run("import torch as lib\n%gradviz on")  # gradtape is imported as well
    assert cells.run("net = lib.nn.Embedding(3, 2)").success
    assert not cells.run("net.weight[0].zero_()").success
    message = cells.graphs[0]["findings"][0]["message"]
    assert "weight` is a leaf that requires grad" in message


def test_what_explains_an_error_is_one_in_its_card(cells: Cells):
    cells.run("%gradviz on")
    cells.run("w = x.double()\n(w * 2).sum().backward()")
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert not cells.run("w.grad * 2").success
    (card,) = cells.graphs
    assert card["findings"][0]["severity"] == "error"
    assert card["events"][-1]["text"].startswith("TypeError: unsupported operand")


def test_the_graph_of_a_card_knows_the_bytes_of_its_tensors(cells: Cells):
    cells.run("%gradviz on")
    cells.run("y = x.exp()\ny += 1\ny.sum().backward()")
    (card,) = cells.graphs
    assert card["storages"]
    assert all(each["nbytes"] > 0 for each in card["storages"])


def test_the_card_has_the_graph_that_the_cell_had_built(cells: Cells, engine: str):
    cells.run(f"import {engine} as lib\n%gradviz on")
    cells.run("w = lib.tensor([1.0, 2.0], requires_grad=True)\nearlier = w * 2")
    cells.run("def train(t):\n    y = t.exp()\n    y += 1\n    y.sum().backward()")
    assert not cells.run("train(earlier)").success
    (card,) = cells.graphs
    names = [node["name"] for node in card["nodes"]]
    assert {"MulBackward0", "ExpBackward0", "AddBackward0", "SumBackward0"} < {*names}
    assert [names[root] for root in card["roots"]] == ["SumBackward0"]
    pointed = {names[row] for row in card["findings"][0]["nodes"]}
    assert {"AddBackward0", "ExpBackward0"} <= pointed
    assert "w" in {node.get("call") for node in card["nodes"]}


def test_a_call_that_failed_shows_what_it_was_given(cells: Cells, engine: str):
    cells.run(f"import {engine} as lib\n%gradviz on")
    cells.run("a = lib.ones(2, 3, requires_grad=True) * 2\nb = lib.ones(2, 3)")
    assert not cells.run("a @ b").success
    (card,) = cells.graphs
    assert "MulBackward0" in [node["name"] for node in card["nodes"]]


def test_a_card_without_a_graph_says_why(cells: Cells):
    cells.run("%gradviz on")
    assert not cells.run("torch.ones(2, 3) @ torch.ones(2, 3)").success
    (card,) = cells.graphs
    assert "nodes" not in card
    assert "nothing that the cell computed needs a gradient" in card["notes"][0]


def test_an_error_of_another_kind_gets_neither_note_nor_card(cells: Cells):
    cells.run("%gradviz on")
    cells.run("y = x.exp()\ny += 1\ny.sum().backward()")
    ended = cells.run("1 / 0")
    assert notes(ended.error_in_exec) == ""
    assert len(cells.graphs) == 1


def test_a_cell_that_fails_again_gets_its_card_again(cells: Cells, engine: str):
    cells.run(f"import {engine} as lib\n%gradviz on")
    failing = "w = lib.ones(2, requires_grad=True)\nw += 1"
    for count in (1, 2):
        ended = cells.run(failing)
        assert "leaf-inplace" in notes(ended.error_in_exec)
        assert len(cells.graphs) == count
    other = cells.run("lib.ones(2, 3) @ lib.ones(2, 3)")
    assert "shape-mismatch" in notes(other.error_in_exec)
    assert "shape-mismatch" not in notes(cells.run("1 / 0").error_in_exec)
    assert len(cells.graphs) == 3


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
    said = capsys.readouterr().out
    assert said.startswith("Released the variables of ")
    assert said.endswith("4 tensors, 32 B freed.\n")
    assert cells.run("import gc; gc.collect(); assert kept[0]() is None").success
    assert cells.run("assert x.tolist() == [1.0, 2.0]").success


def test_a_stepped_pass_says_which_cell_made_a_node(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    cells.run("import gradviz\nloss = (x * x).sum()")
    capsys.readouterr()
    cells.run("walk = gradviz.step(loss)\nprint(walk)\nwalk.abort()")
    (place,) = re.findall(r"SumBackward0  (.*):2\n", capsys.readouterr().out)
    assert re.fullmatch(r"Cell In ?\[\d+\]", place)


def test_release_passes_by_a_view_that_refuses_to_tell_its_history(
    cells: Cells, engine: str, capsys: pytest.CaptureFixture[str]
):
    cells.run(f"import {engine} as lib")
    failing = """
def train():
    weight = lib.ones(3, 2, requires_grad=True)
    with lib.no_grad():
        row = weight[0]
        row.fill_(0)
    weight.exp().backward()
train()
"""
    assert not cells.run(failing).success
    capsys.readouterr()
    assert cells.run("%gradviz release").success
    assert capsys.readouterr().out.startswith("Released the variables of ")


@pytest.mark.parametrize("how", ["%gradviz on", "%%gradviz"])
def test_the_card_releases_what_the_error_keeps_alive(
    cells: Cells, engine: str, how: str
):
    cells.run(f"import {engine} as lib")
    cells.run("""
def train():
    x = lib.ones(1000, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()
""")
    follows = how == "%gradviz on"
    cells.run(how if follows else "pass")
    assert not cells.run("train()" if follows else f"{how}\ntrain()").success
    widget = cells.shell._gradviz_notebook._widgets[None][-1]
    assert widget._services["release"] == {"said": "", "error": ""}
    content = {"service": "release", "number": 1}
    message = {"content": {"data": {"method": "custom", "content": content}}}
    widget._handle_msg(message | {"buffers": []})
    said = widget._services["release"]["said"]
    assert "tensors" in said
    assert "KiB freed" in said


def test_a_later_error_is_not_emptied_by_an_earlier_card(cells: Cells):
    cells.run("%gradviz on")
    cells.run("y = x.exp()\ny += 1\ny.sum().backward()")
    widget = cells.shell._gradviz_notebook._widgets[None][-1]
    cells.run("def f():\n    kept = 1\n    return 1 / 0\nf()")
    widget._answers.answer({"service": "release", "number": 1})
    assert "moved on to another error" in widget._answers.states()["release"]["said"]


def test_the_graph_of_a_failed_cell_knows_how_large_memory_is(cells: Cells):
    """As a recording of the same program does, though a log of cells is in brief."""
    program = (
        "y = torch.ones(8, 6, requires_grad=True).exp()\ny += 1\ny.sum().backward()"
    )
    cells.run("import torch")
    cells.run("%gradviz on")
    cells.run(program)
    cells.run("%gradviz off")
    cells.run(f"%%gradviz\n{program}")
    card, recorded = cells.graphs
    storage = max(each["nbytes"] for each in card["storages"])
    assert storage == max(each["nbytes"] for each in recorded["storages"]) == 8 * 6 * 4
    assert "nothing kept" not in cells.shown[0]["text/plain"]


def test_following_ends_with_a_word(cells: Cells, capsys: pytest.CaptureFixture[str]):
    cells.run("%gradviz on")
    capsys.readouterr()
    cells.run("%gradviz off")
    assert capsys.readouterr().out == "gradviz follows no cells any more.\n"
    cells.run("%gradviz off")
    assert capsys.readouterr().out.startswith("gradviz was not recording")
