"""Where GV673 looks for loops: in every block of the program's own files."""

from __future__ import annotations

import ast

import numpy as np

from gradviz.diagnosis.rules import _rebinding_loops as rebinding
from gradviz.program import History
from gradviz.program.records import Program
from gradviz.text.places import package_of
from tests.rules.harness import run
from tests.rules.tables import named

BLOCKS = """\
for a in x: pass
class Net:
    for b in x: pass
    def forward(self):
        try:
            for c in x: pass
        except ValueError:
            for d in x: pass
        else:
            with x:
                for e in x: pass
async def train():
    match x:
        case 1:
            while x:
                for f in x: pass
    def inner():
        for g in x: pass
"""


def test_loops_of_every_block_are_found_with_the_function_around():
    found = {
        ast.unparse(loop.target): getattr(scope, "name", "")
        for loop, scope in rebinding.loops(ast.parse(BLOCKS))
    }
    inside = {"c": "forward", "d": "forward", "e": "forward"}
    assert found == {"a": "", **inside, "f": "train", "g": "inner"}


def test_whoever_runs_the_program_from_a_package_is_not_read():
    case, ran = named("weights_clipped_by_a_name"), list[Program]()

    def clipped(row: np.ndarray) -> float:
        ran.append(run(case, "gradtape"))
        return float(row[0])

    np.apply_along_axis(clipped, 0, np.ones(1))
    history = History(ran[0])
    frames = [site[0].co_filename for e in history.events for site in e.stack]
    assert any(map(package_of, frames)), "NumPy has run it"
    files = rebinding.files(history)
    assert case.file in files
    assert not any(map(package_of, files))
