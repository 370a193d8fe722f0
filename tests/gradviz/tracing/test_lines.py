"""A run line by line: what each line of a program assigned, from the log of the run."""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz.tracing import lines
from tests import forked

PARTS = """
    from ENGINE import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))

        def forward(self, x):
            x = self.layers(x)
            y = x.relu()
            return {"out": y, "sum": y.sum()}

    def halves(t):
        u = t * 2
        return u.chunk(2, dim=1)

    def chosen(t, first):
        v = t + 1
        if first:
            return t
        return v
"""


@pytest.fixture
def told(engine: Any, tmp_path: Path) -> Any:
    """Return a function that runs a program and returns its lines."""

    def run(text: str) -> list[str]:
        path = tmp_path / "program.py"
        head = f"import {engine} as torch\n"
        text = textwrap.dedent(PARTS) + textwrap.dedent(text)
        path.write_text(head + text.replace("ENGINE", engine))
        with gradviz.record(engine=engine) as recorder:
            runpy.run_path(str(path))
        (program,) = recorder.programs()
        program.script = str(path)
        return [line.split(maxsplit=1)[1] for line in lines.traced(program)]

    return run


def test_each_name_gets_what_its_expression_gave(told: Any):
    assert told("""
        x = torch.ones(2, 4)
        a, b = x.chunk(2, dim=1)
        n: torch.Tensor = x.sum().long()
        x += 1
        c = d = x.t()
        x[0] = 3.0
        pair = a, b
    """) == [
        "x (2, 4) float32",
        "a (2, 2) float32, b (2, 2) float32",
        "n () int64",
        "x (2, 4) float32",
        "c (4, 2) float32, d (4, 2) float32",
    ]


def test_functions_and_layers_are_followed(told: Any):
    assert told("""
        block = Block()
        given = torch.ones(2, 4)
        found = block(given)
        p, q = halves(given)
    """) == [
        "given (2, 4) float32",
        "x (2, 4) float32",
        "y (2, 4) float32",
        "found (2, 4) float32 and () float32",
        "u (2, 4) float32",
        "p (2, 2) float32, q (2, 2) float32",
    ]


def test_what_is_not_known_is_left_out(told: Any):
    assert told("""
        given = torch.ones(2, 4)
        unclear = chosen(given, True)
        number = given.sum().item()
        several = [given * 2, given.shape]
    """) == ["given (2, 4) float32", "v (2, 4) float32"]


def test_turns_of_loops_are_folded_after_three(told: Any):
    assert told("""
        for size in (2, 2, 2, 2, 2, 3):
            w = torch.zeros(size)
            v = w + 1
    """) == [
        *["w (2,) float32", "v (2,) float32"] * 3,
        "4 more lines of iterations like those before",
        "w (3,) float32",
        "v (3,) float32",
    ]


def test_lines_that_always_differ_are_bounded_too(told: Any):
    found = told("""
        for size in range(1, 40):
            w = torch.zeros(size)
    """)
    more = "29 more lines of iterations like those before"
    assert found[9:] == ["w (10,) float32", more]


def test_very_long_runs_are_cut(told: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "_MOST_LINES", 3)
    found = told("\n".join(f"a{n} = torch.ones(1)" for n in range(5)))
    assert len(found) == 4
    assert "the rest is left out" in found[-1]


SCRIPT = """\
import gradtape as torch

x = torch.ones(2, 3)
print((x * 2).sum().item())
"""


def run(folder: Path, *arguments: str) -> Any:
    (folder / "script.py").write_text(SCRIPT)
    done = forked.run("-m", "gradviz", "run", "--no-open", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    "arguments", [("--trace", "script.py"), ("script.py", "--trace")]
)
def test_gradviz_run_tells_lines_on_stderr(tmp_path: Path, arguments: tuple[str, ...]):
    done = run(tmp_path, *arguments)
    assert done.stdout == "12.0\n"
    head = "gradviz: what each line assigned (line, name, shape, dtype):\n\n"
    assert done.stderr.startswith(f"{head}script.py:3      x (2, 3) float32\n\n")
    assert (tmp_path / "script.html").exists()


def test_gradviz_run_writes_lines_to_a_file(tmp_path: Path):
    done = run(tmp_path, "--trace=lines.txt", "script.py", "--json", "run.json")
    written = (tmp_path / "lines.txt").read_text()
    assert written == "script.py:3      x (2, 3) float32\n"
    assert "float32" not in done.stderr
    assert (tmp_path / "run.json").exists()


def test_lines_may_not_take_the_place_of_the_script(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = ["run", "--trace=script.py", "script.py"]
    done = forked.run("-m", "gradviz", *command, cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "script.py").read_text() == SCRIPT
