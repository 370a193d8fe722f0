"""Programs to ask about: run once on each engine, with the lines that they mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradviz
from gradviz._capture.open_log import Engine
from gradviz._capture.session import Session
from gradviz.answers.answer import Why
from gradviz.running.engine_alias import alias
from tests.rules.harness import Case, executed

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(each.stem for each in PROGRAMS.glob("*.py"))
_MARK = re.compile(r"# @(\w+)")


@dataclass(frozen=True)
class Asked:
    """A program that ran, its recorder, its variables, its marked lines."""

    recorder: Session
    variables: dict[str, Any]
    marks: dict[int, str]

    def chain(self, why: Why) -> list[str]:
        """Return "gate cut!" for each step with a line; "!" marks the decision."""
        found: list[str] = []
        for step in why.steps:
            if step.site is not None:
                mark = self.marks.get(step.site.line, str(step.site.line))
                found.append(f"{step.kind} {mark}{'!' if step.decision else ''}")
        return found


@contextmanager
def asked(name: str, engine: Engine) -> Iterator[Asked]:
    """Run a program under a recorder; its variables live as long as the block."""
    source = (PROGRAMS / f"{name}.py").read_text()
    lines = enumerate(source.splitlines(), 1)
    marks = {line: found[1] for line, text in lines if (found := _MARK.search(text))}
    case = Case(name, source, None, (engine,), (), ())
    recorder = gradviz.record(engine=engine, detail="full")
    instead = alias("torch", "gradtape") if engine == "gradtape" else nullcontext()
    with instead, executed(case, recorder) as ran:
        yield Asked(recorder, ran.variables, marks)
