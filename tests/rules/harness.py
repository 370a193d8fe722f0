"""Programs with a marked line, and how they are run in-process.

A table of programs reads like this::

    WRONG = [
        case("exp_then_add", SOURCE_WITH_A_CULPRIT_MARK, "inplace-saved-output"),
    ]
    FINE = [case("add_on_a_sum", SOURCE_WITHOUT_A_MARK)]

    @programs(WRONG + FINE)
    def test_inplace(case: Case, engine: str) -> None:
        check(case, engine)
"""

from __future__ import annotations

import io
import linecache
import sys
import textwrap
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

import gradviz
from gradviz import ir
from gradviz._capture.open_log import Engine
from gradviz.program.records import Program
from gradviz.running.engine_alias import alias

ENGINES: tuple[Engine, ...] = ("gradtape", "torch")
MARK = "# CULPRIT"


@dataclass(frozen=True)
class Case:
    """A program; with a slug it is wrong in the marked line, without one it is fine."""

    name: str
    source: str
    slug: str | None
    engines: tuple[Engine, ...]
    says: tuple[str, ...]  # parts that the first finding's text must have
    related: tuple[str, ...]  # roles that it must have

    @property
    def file(self) -> str:
        """The file name that the program is compiled under."""
        return f"programs/{self.name}.py"

    @property
    def lines(self) -> list[int]:
        """The marked lines: any of them may be named."""
        lines = self.source.splitlines()
        return [number for number, line in enumerate(lines, 1) if MARK in line]


def case(
    name: str,
    source: str,
    slug: str | None = None,
    *,
    engines: tuple[Engine, ...] = ENGINES,
    says: Iterable[str] = (),
    related: Iterable[str] = (),
) -> Case:
    """Return one row of a table of programs; the source may be indented."""
    text = textwrap.dedent(source).strip("\n") + "\n"
    made = Case(name, text, slug, engines, tuple(says), tuple(related))
    if (slug is None) == bool(made.lines):
        raise ValueError(f"{name}: a slug and a line marked {MARK} go together.")
    return made


def programs(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """Parametrise a test ``(case, engine)`` over a table, each engine where it can."""
    rows = [
        pytest.param(each, engine, id=f"{each.name}-{engine}")
        for each in cases
        for engine in each.engines
    ]
    return pytest.mark.parametrize(("case", "engine"), rows)


# ---- running ------------------------------------------------------------------------


def run(case: Case, engine: str) -> Program:
    """Run a program under the log of an engine; what it raises is part of the log."""
    program = Program("gradtape" if engine == "gradtape" else "torch")
    program.script = case.file
    instead = alias("torch", "gradtape") if engine == "gradtape" else nullcontext()
    with instead, executed(case, _recorded(program)):
        return program


def recorded(case: Case) -> ir.Snapshot:
    """Run a program on the first engine that can, and return its picture."""
    engine = case.engines[0]
    session = gradviz.record(engine=engine, detail="full")
    session.script = case.file
    same = engine == "torch"
    with nullcontext() if same else alias("torch", engine), executed(case, session):
        return session.snapshot()


@dataclass(frozen=True)
class Ran:
    """What a program left: its variables, what it printed, what it raised."""

    variables: dict[str, Any]
    output: str
    error: str


@contextmanager
def executed(case: Case, recorder: Any) -> Generator[Ran, None, None]:
    """Execute a program within a context manager; its variables live in the block."""
    lines = case.source.splitlines(keepends=True)
    linecache.cache[case.file] = (len(case.source), None, lines, case.file)
    code = compile(case.source, case.file, "exec", dont_inherit=True)
    raised = ""
    with _as_main(case.file) as module, _defaults_kept(), _quiet() as printed:
        try:
            with recorder:
                exec(code, module.__dict__)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
            error.__traceback__ = None  # its frames would keep the tensors alive
        yield Ran(module.__dict__, printed.getvalue(), raised)


def _recorded(program: Program) -> Any:
    """Return the context manager that fills the log while a program runs."""
    if program.engine == "gradtape":
        from gradviz._capture.adapters.gradtape.log import GradtapeLog

        return GradtapeLog(program)
    from gradviz._capture.adapters.pytorch.log import TorchLog

    return TorchLog(program)


@contextmanager
def _as_main(file: str) -> Generator[ModuleType, None, None]:
    module, before = ModuleType("__main__"), sys.modules["__main__"]
    module.__file__ = file
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.modules["__main__"] = before


@contextmanager
def _defaults_kept() -> Generator[None, None, None]:
    """Seed, and put back what programs leave switched."""
    import torch

    torch.manual_seed(0)
    try:
        yield
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.autograd.set_detect_anomaly(False)


@contextmanager
def _quiet() -> Generator[io.StringIO, None, None]:
    """Let programs print and warn as they like; give what they printed."""
    with (
        warnings.catch_warnings(),
        redirect_stdout(io.StringIO()) as printed,
        redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield printed
