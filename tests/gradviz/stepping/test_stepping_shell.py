"""step(loss).interact(): a command loop in the manner of pdb."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz.cli import main
from gradviz.stepping.shell import interact


def talk(lib: Any, *lines: str) -> tuple[Any, str]:
    """Type these lines, then end the input; return the leaf and what was printed."""
    x = lib.tensor([3.0, 4.0], requires_grad=True)
    out = io.StringIO()
    typed = io.StringIO("".join(f"{line}\n" for line in lines))
    interact(gradviz.step((x * x).sum()), typed, out)
    return x, out.getvalue()


def test_it_steps_looks_and_runs_to_the_end(lib: Any):
    x, said = talk(lib, "s", "info", "until Acc*", "where", "c")
    assert "[1/3] MulBackward0" in said
    assert "gradient 0: tensor([1., 1.])" in said
    assert said.count("[2/3] AccumulateGrad of x") == 2
    assert said.endswith("The pass is over: 3 nodes ran.\n")
    assert x.grad.tolist() == [6.0, 8.0]


@pytest.mark.parametrize("ending", [[], ["q"], ["quit"], ["abort"], ["EOF"]])
def test_the_end_of_the_input_gives_the_pass_up(lib: Any, ending: list[str]):
    x, said = talk(lib, "step 2", *ending)
    assert said.endswith("every .grad is as it was.\n")
    assert x.grad is None


def test_ctrl_c_gives_the_pass_up(lib: Any):
    class Interrupted(io.StringIO):
        def readline(self, *_: Any) -> str:
            raise KeyboardInterrupt

    x = lib.tensor([1.0], requires_grad=True)
    out = io.StringIO()
    stepper = gradviz.step((x * 2).sum())
    interact(stepper, Interrupted(), out)
    assert stepper.done
    assert "given up" in out.getvalue()


def test_breakpoints_and_replaced_gradients(lib: Any):
    x, said = talk(
        lib, "b Acc* above 5", "b", "s", "replace scale 2", "c", "clear 0", "b", "c"
    )
    assert "Will stop: Acc*, norm above 5" in said
    assert "0  Acc*, norm above 5" in said
    assert "stopped: Acc*, norm above 5" in said
    assert "There are no breakpoints." in said
    assert x.grad.tolist() == [12.0, 16.0]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("tea", "There is no command tea"),
        ("until", "until needs the name of a node"),
        ("until Tea*", "no node ahead is called Tea*"),
        ("step x", "*** invalid literal"),
        ("break above", "above needs a value"),
        ("clear 3", "there is no breakpoint 3"),
        ("replace scale", "replace needs: zero, scale FACTOR or clip NORM"),
        ("replace zero 4", "no gradient 4 reached this node"),
    ],
)
def test_what_cannot_be_done_is_one_line(lib: Any, line: str, sentence: str):
    _, said = talk(lib, line)
    assert sentence in said
    assert "Traceback" not in said


def test_gradtape_lists_the_line_with_a_caret():
    import gradtape

    _, said = talk(gradtape, "s", "list")
    assert "->" in said
    line, caret = said.split("->")[1].split("\n")[:2]
    start = caret.index("^") - 2  # the arrow was cut off
    assert line[start : start + caret.count("^")] == "x * x"


def test_help_says_what_each_command_does():
    import gradtape

    _, said = talk(gradtape, "help", "help until", "h n")
    for name in ("step", "over", "until", "break", "info", "list", "where", "replace"):
        assert name in said
    assert "Run until a node; NODE is its name" in said
    assert "over  (next, n)" in said


def test_enter_repeats_and_an_error_of_the_pass_is_raised(lib: Any):
    _, said = talk(lib, "s", "")
    assert "[2/3]" in said
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    stepper = gradviz.step(y.sum())
    with lib.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        interact(stepper, io.StringIO("c\n"), io.StringIO())


SCRIPT = """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
for step in range(3):
    (w * w).sum().backward()
    print(step, w.grad.tolist())
"""


@pytest.fixture
def run_step(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")

    def run(*lines: str) -> int:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{e}\n" for e in lines)))
        script = str(tmp_path / "script.py")
        return main(["run", "--step", "--engine", engine, script])

    return run


def test_a_script_is_stepped_through_at_every_backward(
    run_step: Any, capsys: pytest.CaptureFixture[str]
):
    assert run_step("s", "c", "detach") == 0
    out, err = capsys.readouterr()
    assert out == "0 [2.0, 4.0]\n1 [4.0, 8.0]\n2 [6.0, 12.0]\n"
    assert err.count("Backward, node by node.") == 2
    assert "script.py:4\n    (w * w).sum().backward()" in err


def test_giving_a_pass_up_ends_the_script(
    run_step: Any, capsys: pytest.CaptureFixture[str]
):
    with warnings.catch_warnings(record=True, action="always") as warned:
        assert run_step("c", "s", "q") == 1
    assert warned == []  # PyTorch's long one of an error in anomaly mode
    out, err = capsys.readouterr()
    assert out == "0 [2.0, 4.0]\n"
    assert err.endswith("was given up, and the script ends here.\n")


def test_stepping_records_nothing(capsys: pytest.CaptureFixture[str]):
    assert main(["run", "--step", "--html", "x.html", "script.py"]) == 2
    assert "--step records nothing" in capsys.readouterr().err
