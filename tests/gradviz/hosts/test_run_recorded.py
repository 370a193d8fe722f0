"""``gradviz run`` with the real recorder and engine: the file says what happened."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path

import pytest

from gradviz import cli, ir, snapshots
from gradviz.render.text import to_text


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def record(text: str, *options: str) -> tuple[int, ir.Snapshot]:
    """Run the script under the engine; return its exit status and the recording."""
    Path("script.py").write_text(textwrap.dedent(text))
    arguments = ["script.py", "--engine", "gradtape", "--json", "out.json", *options]
    return cli.main(["run", *arguments]), snapshots.load("out.json")


def node(snapshot: ir.Snapshot, call: str) -> ir.OpNode:
    (found,) = [each for each in snapshot.nodes if each.call == call]
    return found


SQUARES = """\
import torch

w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)

def squares(x):
    return x * x

loss = squares(w).sum()
loss.backward()
print(w.grad.tolist())
"""


def test_a_script_becomes_a_graph(capsys):
    status, snapshot = record(SQUARES)
    assert status == 0
    assert capsys.readouterr().out == "[2.0, -4.0, 6.0]\n"
    names = sorted(each.name for each in snapshot.nodes)
    assert names == ["AccumulateGrad", "MulBackward0", "SumBackward0"]
    assert len(snapshot.edges) == 3  # x feeds the product twice


def test_a_node_knows_its_line_and_columns():
    _, snapshot = record(SQUARES)
    product = node(snapshot, "mul")
    assert product.site is not None
    site = snapshot.sites[product.site]
    assert (Path(site.file).name, site.line, site.function) == (
        "script.py",
        6,
        "squares",
    )
    assert site.column is not None
    assert site.end_column is not None
    assert site.text[site.column - 1 : site.end_column - 1] == "x * x"
    (caller,) = (snapshot.sites[row] for row in product.stack)
    assert (caller.line, caller.function) == (8, "<module>")


def test_the_gradients_of_the_script_are_kept():
    _, snapshot = record(SQUARES)
    (row,) = node(snapshot, "mul").grad_outputs
    assert snapshot.statistics[row].norm == pytest.approx(math.sqrt(3))
    assert "1.732" in to_text(snapshot)


def test_a_script_that_raises_leaves_its_graph(capsys):
    status, snapshot = record(SQUARES + "w.reshape(7)\n")
    assert status == 1
    error = capsys.readouterr().err
    assert "RuntimeError: shape '[7]' is invalid for input of size 3" in error
    assert 'script.py", line 11, in <module>' in error
    assert "gradtape/" not in error
    assert node(snapshot, "mul")
    assert any("shape '[7]' is invalid" in note for note in snapshot.notes)


def test_nan_everywhere_is_recorded():
    status, snapshot = record(
        SQUARES.replace("1.0, -2.0", "float('nan'), float('inf')")
    )
    assert status == 0
    (edge, *_) = [e for e in snapshot.edges if e.gradient is not None]
    assert edge.gradient is not None
    text = to_text(snapshot)
    assert "NaN×1" in text
    assert "Inf×1" in text


def test_empty_0d_and_9d_tensors_are_recorded():
    status, snapshot = record(
        """
        import torch
        for shape in ((0, 3), (), (1, 2, 1, 2, 1, 2, 1, 2, 1)):
            torch.ones(shape, requires_grad=True).mul(2.0).sum().backward()
        """
    )
    assert status == 0
    shapes = {tensor.shape for tensor in snapshot.tensors}
    assert {(0, 3), (), (1, 2, 1, 2, 1, 2, 1, 2, 1)} <= shapes


def test_a_script_without_gradients_says_so():
    status, snapshot = record("import torch\ntorch.tensor([1.0]).sum()\n")
    assert status == 0
    assert snapshot.nodes == ()
    assert snapshot.notes
    assert "Nothing was recorded." in to_text(snapshot)


@pytest.mark.parametrize("text", ["x = = 1", "import no_such_module"])
def test_a_script_that_ends_at_once_replaces_no_page(capsys, text: str, engine: str):
    Path("script.py").write_text(text)
    Path("script.html").write_text("the run before")
    assert cli.main(["run", "script.py", "--engine", engine]) == 1
    assert Path("script.html").read_text() == "the run before"
    words = "gradviz: recorded nothing until the script raised.\n"
    assert capsys.readouterr().err.endswith(words)
    assert cli.main(["run", "script.py", "--findings", "found.json"]) == 1
    assert "gradviz: no findings until the script raised: " in capsys.readouterr().err


def test_as_many_of_the_last_steps_are_kept_as_asked_for():
    text = """
        import torch

        w = torch.ones(2, requires_grad=True)
        for _ in range(10):
            (w * 2).sum().backward()
    """
    for steps in (1, 3):
        _, snapshot = record(text, "--steps", str(steps))
        assert [each.call for each in snapshot.nodes] == ["w", *["mul", "sum"] * steps]


def test_no_steps_at_all_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as raised:
        cli.main(["run", "script.py", "--steps", "0"])
    assert raised.value.code == 2
    assert "--steps: 0 is not a whole number from 1 on" in capsys.readouterr().err


def test_the_cause_of_an_error_is_reported_once(capsys: pytest.CaptureFixture[str]):
    status, snapshot = record(
        """\
        import torch

        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.sum().backward()
        """
    )
    assert status == 1
    assert [each.code for each in snapshot.findings] == ["GV101"]
    assert capsys.readouterr().err.count("GV101") == 1


def test_what_a_recording_could_not_see_is_said(capsys):
    pytest.importorskip("torch")
    Path("script.py").write_text(
        "import threading, torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "def work():\n    (w * 2).sum().backward()\n"
        "worker = threading.Thread(target=work, name='other')\n"
        "worker.start()\nworker.join()\n"
    )
    assert cli.main(["run", "script.py", "--json", "out.json"]) == 0
    assert "note: Thread 'other' used PyTorch too" in capsys.readouterr().err
