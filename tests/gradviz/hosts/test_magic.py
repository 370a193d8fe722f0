"""The magics in a real shell: what they show, what they leave alone, how they fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gradviz
from gradviz import widget
from gradviz.notebook import magic
from gradviz.render.mime import SNAPSHOT
from tests.gradviz.hosts.notebooks import Cells, KeptComm, kept_comms, notebook_shell

PROGRAM = "x = torch.tensor([1.0, 2.0], requires_grad=True)\nloss = (x * x).sum()\n"


@pytest.fixture
def comms(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[KeptComm]]:
    stub = tmp_path / "widget.js"
    stub.write_text("export default {};", encoding="utf-8")
    monkeypatch.setattr(widget, "STUB", stub)
    with kept_comms(monkeypatch) as opened:
        yield opened


@pytest.fixture
def cells(comms: list[KeptComm]) -> Iterator[Cells]:
    """A notebook with the extension loaded and a small graph behind ``loss``."""
    with notebook_shell() as cells:
        assert cells.run(
            f"%load_ext gradviz\nimport gradtape as torch\n{PROGRAM}"
        ).success
        yield cells


def names(graph: dict[str, list[dict[str, str]]]) -> list[str]:
    return [node["name"] for node in graph["nodes"]]


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that was said on stderr, and nothing else anywhere."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


# ---- %gradviz EXPR ------------------------------------------------------------------


def test_a_line_shows_the_graph_behind_an_expression(cells: Cells):
    assert cells.run("%gradviz loss").success
    (graph,) = cells.graphs
    assert names(graph) == ["AccumulateGrad", "MulBackward0", "SumBackward0"]
    assert graph["title"] == "loss"


def test_a_line_takes_any_expression_verbatim(cells: Cells):
    cells.run('d = {"$loss {x}": loss}')
    assert cells.run('%gradviz d["$loss {x}"]   *  -2').success
    assert names(cells.graphs[0])[-1] == "MulBackward0"


def test_a_line_finds_the_names_of_the_users_variables(cells: Cells):
    cells.run("%gradviz loss")
    (leaf, *_) = cells.graphs[0]["nodes"]
    assert leaf["call"] == "x"


def test_a_line_shows_recorders_and_snapshots_too(cells: Cells):
    cells.run("import gradviz\nwith gradviz.record(title='mine') as rec: (x * 3).sum()")
    cells.run("%gradviz rec")
    cells.run("%gradviz rec.snapshot()")
    cells.run("%gradviz --title yours rec")
    assert [graph["title"] for graph in cells.graphs] == ["mine", "mine", "yours"]


def test_a_line_can_write_a_page_besides(
    cells: Cells, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    cells.run(f"folder = {str(tmp_path)!r}")
    assert cells.run('%gradviz --html "{folder}/a b.html" loss').success
    page = tmp_path / "a b.html"
    assert capsys.readouterr().out == f"Page: {page}\n"
    assert len(gradviz.load(page).nodes) == 3
    assert len(cells.graphs) == 1


def test_why_asks_the_last_recorded_cell(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    cells.run("%%gradviz\ny = x.detach() * 3\n(x * y).sum().backward()")
    assert cells.run("%gradviz why y").success
    told = cells.shown[-1]["text/plain"]
    assert told.startswith("y does not require grad.")
    assert "`.detach()`" in told
    assert cells.run("%gradviz why x which losses does it learn from?").success
    assert "1 of 1 backward pass" in cells.shown[-1]["text/plain"]
    capsys.readouterr()
    cells.run("%gradviz why nobody")
    assert "nobody" in complaint(capsys)
    assert cells.run("if True:\n    %gradviz why y?").success
    assert cells.shown[-1]["text/plain"] == told
    cells.run("why = x")
    cells.run("%gradviz why * loss")  # a variable of that name is the user's
    assert names(cells.graphs[-1])[-1] == "MulBackward0"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "Name what to show, as in `%gradviz loss`"),
        ("lss", "`lss` raises NameError: name 'lss' is not defined"),
        ("loss +", "`loss +` is not a Python expression"),
        (
            "3",
            (
                "Expected a tensor of PyTorch or gradtape, a recorder or a snapshot, "
                "got int"
            ),
        ),
        ("x.detach()", "The tensor of shape (2,) has no graph"),
        ("--html", "argument --html: expected one argument"),
        (
            "--colour red loss",
            "--colour red; `%gradviz?` lists what",
        ),
        ("--html /no/such/folder/a.html loss", "there is no folder /no/such/folder"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(
    cells: Cells, capsys: pytest.CaptureFixture[str], line: str, sentence: str
):
    result = cells.run(f"%gradviz {line}")
    assert not result.success  # "run all" stops here
    said = complaint(capsys)
    assert said.startswith("UsageError: ")
    assert sentence in said
    assert cells.graphs == []


def test_help_is_what_the_question_mark_shows(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    assert cells.run("%gradviz --help").success
    said = capsys.readouterr().out
    assert said.startswith("See the autograd graph behind a tensor")
    assert "--title T" in said
    assert cells.graphs == []


def test_an_error_deep_in_the_users_code_keeps_its_traceback(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    cells.run("def f():\n    raise KeyError('deep')")
    result = cells.run("%gradviz f()")
    assert isinstance(result.error_in_exec, KeyError)
    shown = capsys.readouterr().out
    assert "raise KeyError('deep')" in shown
    assert "magic.py" not in shown


# ---- %%gradviz ----------------------------------------------------------------------


def test_a_cell_is_recorded_and_keeps_its_own_result(cells: Cells):
    result = cells.run(
        f"%%gradviz --title 'one step'\n{PROGRAM}loss.backward()\nx.grad"
    )
    assert result.success
    assert result.result.tolist() == [2.0, 4.0]
    assert cells.shell.user_ns["_"] is result.result
    (graph,) = cells.graphs
    assert graph["title"] == "one step"
    assert names(graph) == ["AccumulateGrad", "MulBackward0", "SumBackward0"]
    assert graph["nodes"][0]["call"] == "x"
    assert any(event["kind"] == "backward_end" for event in graph["events"])


def test_the_lines_of_a_recorded_cell_are_counted_as_the_user_sees_them(cells: Cells):
    cells.run(f"%%gradviz\n\n{PROGRAM}")
    (graph,) = cells.graphs
    product = graph["nodes"][names(graph).index("MulBackward0")]
    site = graph["sites"][product["site"]]
    assert site["line"] == 4
    assert site["text"] == "loss = (x * x).sum()"
    assert graph["title"].startswith("Cell In[")


def test_a_recorded_cell_is_listed_as_it_was_typed(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    cells.run(f"%%gradviz --title 'a  b'\n{PROGRAM}")
    (graph,) = cells.graphs
    (source,) = [s for s in graph["sources"] if s.get("label")]
    assert source["text"] == f"# %%gradviz --title 'a  b'\n{PROGRAM}"
    cells.run("%%gradviz\n1 / 0")
    assert "      1 # %%gradviz\n----> 2 1 / 0" in capsys.readouterr().out


def test_a_cell_that_raises_shows_its_error_and_what_was_recorded(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    result = cells.run(f"%%gradviz\n{PROGRAM}1 / 0\nloss.backward()")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    shown = capsys.readouterr().out
    assert "----> 4 1 / 0" in shown
    assert "magic.py" not in shown
    (graph,) = cells.graphs
    assert "MulBackward0" in names(graph)
    assert "ZeroDivisionError: division by zero" in graph["notes"][0]


def test_a_cell_may_await(cells: Cells):
    body = f"import asyncio\nawait asyncio.sleep(0)\n{PROGRAM}"
    # In a thread of its own, for a browser test may have left a loop in this one.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(cells.run, f"%%gradviz\n{body}").result().success
    assert "MulBackward0" in names(cells.graphs[0])


def test_other_cell_magics_nest_in_both_directions(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    assert cells.run(f"%%gradviz\n%%time\n{PROGRAM}").success
    assert cells.run(f"%%time\n%%gradviz\n{PROGRAM}").success
    assert capsys.readouterr().out.count("CPU times") == 2
    assert [len(graph["nodes"]) for graph in cells.graphs] == [3, 3]


def test_cells_run_by_a_cell_are_recorded_with_it(cells: Cells):
    cells.run(f"%%gradviz\nget_ipython().run_cell({PROGRAM!r})\ny = (x * 2).sum()")
    (graph,) = cells.graphs
    assert names(graph).count("MulBackward0") == 2


def test_the_magic_called_as_a_function_runs_the_cell(cells: Cells):
    cells.shell.run_cell_magic("gradviz", "--title called", PROGRAM)
    assert cells.graphs[0]["title"] == "called"
    assert names(cells.graphs[0])[-1] == "SumBackward0"


def test_recording_ends_with_the_cell(cells: Cells):
    cells.run(f"%%gradviz\n{PROGRAM}")
    cells.run("z = (x * 5).sum()")
    assert len(cells.graphs) == 1


def test_off_stops_the_recording_and_keeps_what_there_is(
    cells: Cells, comms: list[KeptComm]
):
    cells.run("%gradviz loss")
    cells.run(f"%%gradviz\n{PROGRAM}%gradviz off\nz = (x * 5).sum()")
    assert names(cells.graphs[1]).count("MulBackward0") == 1
    assert comms[1].sent[-1][0] == "comm_close"  # of the first view


def test_off_says_so_when_there_is_nothing_to_stop(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    assert cells.run("%gradviz off").success
    assert capsys.readouterr().out == "gradviz was not recording, and keeps no views.\n"


def test_words_after_the_cell_magic_are_refused_before_the_cell_runs(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    assert not cells.run("%%gradviz loss\nran = True").success
    assert "`loss` is none" in complaint(capsys)
    assert "ran" not in cells.shell.user_ns


def test_a_page_that_cannot_be_written_is_refused_before_the_cell_runs(
    cells: Cells, capsys: pytest.CaptureFixture[str]
):
    assert not cells.run("%%gradviz --html /no/such/a.html\nran = True").success
    assert "there is no folder" in complaint(capsys)
    assert "ran" not in cells.shell.user_ns


def test_a_folder_that_vanishes_meanwhile_does_not_hide_the_graph(
    cells: Cells, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "out"
    folder.mkdir()
    remove = f"import os; os.rmdir({str(folder)!r})"
    result = cells.run(f"%%gradviz --html {folder}/a.html\n{PROGRAM}{remove}")
    assert result.success
    assert "there is no folder" in complaint(capsys)
    assert len(cells.graphs) == 1


# ---- what comes with the extension --------------------------------------------------


def test_recorders_and_snapshots_show_themselves(cells: Cells):
    cells.run("import gradviz\nrec = gradviz.record(title='rec')\nwith rec: x * 3")
    data, _ = cells.shell.display_formatter.format(cells.shell.user_ns["rec"])
    assert data["text/plain"].startswith("rec (gradtape")
    snapshot = cells.shell.user_ns["rec"].snapshot()
    assert gradviz.show(snapshot) is None
    assert cells.graphs[0]["title"] == "rec"


def test_a_cell_that_runs_again_closes_its_former_views(
    cells: Cells, comms: list[KeptComm]
):
    def alive() -> int:
        return sum(comm.sent[-1][0] != "comm_close" for comm in comms)

    cells.run("%gradviz loss", cell_id="one")
    each = alive()  # the view's comm and its layout's
    cells.run("%gradviz loss", cell_id="two")
    cells.run("%gradviz loss\n%gradviz loss * 2", cell_id="one")
    assert alive() == 3 * each
    cells.run("%gradviz loss", cell_id="one")
    assert alive() == 2 * each


def test_the_ids_of_cells_are_kept_by_the_file_of_their_code(cells: Cells):
    cells.run("here = 1", cell_id="abc")
    assert "abc" in cells.shell._gradviz_cells.values()


def test_without_anywidget_the_graph_is_shown_all_the_same(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "gradviz.widget", None)
    assert cells.run("%gradviz loss").success
    (data,) = cells.shown
    assert "application/vnd.jupyter.widget-view+json" not in data
    assert "application/vnd.gradviz+json" in data


def test_in_a_terminal_objects_show_as_text(comms: list[KeptComm]):
    with notebook_shell(kernel=False) as cells:
        cells.run(f"%load_ext gradviz\nimport gradtape as torch, gradviz\n{PROGRAM}")
        snapshot = cells.run("gradviz.capture(loss)").result
        data, _ = cells.shell.display_formatter.format(snapshot)
        assert data.keys() == {"text/plain"}
        assert comms == []


def test_unloading_takes_everything_back(cells: Cells, comms: list[KeptComm]):
    cells.run("%gradviz loss")
    assert cells.run("%unload_ext gradviz").success
    assert "gradviz" not in cells.shell.magics_manager.magics["line"]
    assert "gradviz" not in cells.shell.magics_manager.magics["cell"]
    assert magic.record_in_place not in cells.shell.input_transformers_cleanup
    assert not hasattr(cells.shell, "_gradviz_cells")
    assert all(comm.sent[-1][0] == "comm_close" for comm in comms)
    snapshot = gradviz.capture(cells.shell.user_ns["loss"])
    data, _ = cells.shell.display_formatter.format(snapshot)
    assert data.keys() == {"text/plain"}
    # And loading again works once, not twice.
    cells.run("%load_ext gradviz\n%reload_ext gradviz")
    cells.run(f"%%gradviz\n{PROGRAM}")
    assert len(cells.graphs) == 2


def test_the_help_text_teaches_with_examples(cells: Cells):
    text = cells.shell.object_inspect_text("%gradviz")
    for taught in ("%gradviz loss", "%%gradviz", "%gradviz off", "--html", "--title"):
        assert taught in text


def test_the_notebooks_own_frames_are_not_the_users(cells: Cells):
    cells.run(f"%%gradviz\ndef f(x):\n    return x * 2\n{PROGRAM}f(x).sum().backward()")
    (graph,) = cells.graphs
    files = [source["file"] for source in graph["sources"]]
    assert not [file for file in files if "IPython" in file]
    stacks = {node["name"]: node.get("stack", []) for node in graph["nodes"]}
    assert max(map(len, stacks.values())) == 1  # f, called from the cell


def test_a_long_cell_is_followed_and_then_shown_as_a_whole(cells: Cells):
    waiting = "import threading\nfor _ in range(3):\n"
    waiting += "    (x * 2).sum().backward()\n    threading.Event().wait(0.7)"
    assert cells.run(f"%%gradviz\n{waiting}").success
    outputs = cells.shell.display_pub.outputs
    counts = [len(each["data"][SNAPSHOT]["nodes"]) for each in outputs]
    assert counts == [3, 7]  # one step while it ran, then all three
    (graph,) = cells.graphs
    assert len(graph["flow_steps"]) == 3
