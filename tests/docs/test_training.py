"""What docs/training.md shows runs, each block as a program of its own."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import forked
from tests.docs.test_readme import blocks

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/training.md").read_text(encoding="utf-8")
PROGRAMS = [block.text for block in blocks(PAGE) if block.language == "python"]
NEEDED = [
    re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE) for text in PROGRAMS
]
OPTIONAL = ("torch", "wandb", "mlflow", "transformers", "lightning")
AFFORDED = "from gradviz.watching import sampling; sampling.GRANTED_NS = 10**12\n"
"""Before a program: at how many steps it looks depends on its speed otherwise."""
NAMES = [next((n for n in OPTIONAL[1:] if n in names), names[0]) for names in NEEDED]


def run(text: str, folder: Path, engine: str = "torch") -> str:
    (folder / "program.py").write_text(text, encoding="utf-8")
    done = forked.run("program.py", cwd=folder, engine=engine)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "place", range(len(PROGRAMS)), ids=lambda at: f"{at}-{NAMES[at]}"
)
def test_the_programs_run(place: int, tmp_path: Path):
    missing = [name for name in NEEDED[place] if find_spec(name) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    printed = run(AFFORDED + PROGRAMS[place], tmp_path)
    lines = tmp_path / "steps.jsonl"
    if "JSONLines(" in PROGRAMS[place]:
        told = [json.loads(line) for line in lines.read_text().splitlines()]
        assert [each["step"] for each in told if "numbers" in each][:4] == [0, 1, 2, 3]
        assert Path(told[-1]["page"]).exists()
    if "print(" in PROGRAMS[place]:
        assert printed


def test_the_table_of_layers_is_true(tmp_path: Path):
    pytest.importorskip("torch")
    shown, _ = [block.text for block in blocks(PAGE) if block.language == "text"]
    (program,) = [text for text in PROGRAMS if "gradviz.summary(" in text]
    printed = run(program, tmp_path)

    def without_times(text: str) -> list[str]:
        return [re.sub(r" +\S+ [nµm]?s$", "", line) for line in text.splitlines()]

    assert without_times(printed)[1:] == without_times(shown)[1:]
