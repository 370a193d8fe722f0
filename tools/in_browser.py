"""Runs a program in the playground: recorded, on gradtape, with its page and findings.

The page's worker imports this in Pyodide. What the program writes, and what is said of
it, goes to stdout and stderr, as with ``gradviz run``.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from gradviz.cli.closing import said
from gradviz.errors import GradvizError
from gradviz.export import FORMS
from gradviz.reporting.document import dumps
from gradviz.reporting.report import Report
from gradviz.running.main_module import script_at
from gradviz.running.script import Outcome, Wanted, run_program
from gradviz.running.voice import Voice

NAME = "program.py"
_STEPS = 4  # backward passes that the page shows

_FIRST = """\
import torch
layer = torch.nn.Linear(2, 1)
layer(torch.ones(1, 2)).sum().backward()
torch.optim.SGD(layer.parameters(), lr=0.1).step()
"""


def warm_up() -> None:
    """Load what every run needs, which takes seconds, before the first one waits."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        run(_FIRST)


def run(source: str) -> str:
    """Run a program in a folder of its own; return what came of it as JSON.

    It has ``status``, which a shell would show, ``page``, the text of an HTML page or
    null where nothing was recorded, and ``found``, the document of
    ``docs/findings.schema.json`` or null. ``import torch`` gives gradtape.

    >>> came = json.loads(run("print(1 + 1)"))
    2
    >>> came["status"], came["page"]
    (0, None)
    """
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="playground-") as folder:
        os.chdir(folder)
        try:
            Path(NAME).write_text(source, encoding="utf-8")
            return json.dumps(_ran(Path.cwd()))
        finally:
            os.chdir(before)


def _ran(folder: Path) -> dict[str, object]:
    came: dict[str, object] = {"status": 2, "page": None, "found": None}
    voice = Voice()

    def deliver(outcome: Outcome) -> None:
        report = None
        if outcome.diagnosis is not None:
            file = str(folder / NAME)
            report = Report(outcome.diagnosis, NAME, folder, file, outcome.error)
            came["found"] = json.loads(dumps(report))
        snapshot = outcome.snapshot
        if snapshot is not None and snapshot.nodes:
            with voice.failures("the graph"):
                came["page"] = FORMS["html"](snapshot).decode()
        voice.say(said(outcome, report, "text", {}, voice.stream))

    try:
        program = script_at(Path(NAME))
        wanted = Wanted(NAME, _STEPS)
        ending = run_program(
            program, [], engine="gradtape", wanted=wanted, voice=voice, deliver=deliver
        )
        came["status"] = ending.status
    except GradvizError as error:
        voice.say(f"gradviz: {error}")
    return came
