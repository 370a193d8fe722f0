"""Run commands side by side: what a stage is, what became of it, how far all are."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread, Timer

from tools import frontend
from tools.counts import Counts, Failure, Report

ROOT = frontend.ROOT
_LIMIT_SECONDS = 7_200  # for one stage that hangs; a busy machine takes its time
_TAIL = 30  # lines of the output of a stage without a report, where it failed


@dataclass(frozen=True)
class Stage:
    """One command, and how to count what it did."""

    name: str
    group: str  # what --only selects: "lint" or "test"
    command: Sequence[str]
    folder: Path = ROOT
    report: Path | None = None  # the file that `read` reads
    read: Callable[[Path], Report] | None = None
    hurried: bool = False  # it leaves out what it cannot begin in time

    def so_far(self) -> Report:
        """Return what the report says, also of a stage that has not ended."""
        try:
            if self.read is not None and self.report is not None:
                return self.read(self.report)
        except (OSError, ValueError):
            pass
        return Report()


@dataclass(frozen=True)
class Outcome:
    """What became of a stage."""

    stage: Stage
    report: Report
    seconds: float
    cpu: float = 0.0  # seconds, with all processes that it started and waited for
    note: str = ""


def run(stage: Stage, output: Path) -> Outcome:
    """Run one stage; what it writes goes to a file."""
    began, note, cpu = time.monotonic(), "", 0.0
    try:
        with output.open("wb") as file:
            status, cpu = _run(stage, file.fileno())
        if status < 0:
            note = f"ended by signal {-status}"
    except OSError as error:
        status, note = 1, str(error)
        output.write_text(note, encoding="utf-8")
    report = _judged(stage, status, output)
    if status and stage.read and not note:
        note = f"exit status {status}"
    if left_out := report.total - report.counts.done if stage.hurried else 0:
        note = note or f"{left_out} left out"
    return Outcome(stage, report, time.monotonic() - began, cpu, note)


def _run(stage: Stage, output: int) -> tuple[int, float]:
    """Return exit status and CPU seconds."""
    process = subprocess.Popen(
        stage.command,
        cwd=stage.folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    timer = Timer(_LIMIT_SECONDS, process.kill)
    timer.start()
    try:
        if not hasattr(os, "wait4"):
            return process.wait(), 0.0
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, used.ru_utime + used.ru_stime
    finally:
        timer.cancel()


def _judged(stage: Stage, status: int, output: Path) -> Report:
    """Return the report of a stage that ended; one without is a single check."""
    broken = Failure(stage.name, _tail(output))
    if stage.read is None or stage.report is None:
        good = Report(Counts(passed=1), 1)
        return Report(Counts(failed=1), 1, [broken]) if status else good
    try:
        report = stage.read(stage.report)
    except (OSError, ValueError):
        return Report(Counts(failed=1), 1, [broken])  # it broke before it could report
    missing = report.counts.done < report.total and not stage.hurried
    if (status or missing) and not report.counts.failed:  # the runner itself failed
        report.failures.append(broken)
        report.counts += Counts(failed=1)
    return report


def _tail(output: Path) -> str:
    text = output.read_text(encoding="utf-8", errors="replace")
    return "\n".join(text.rstrip().splitlines()[-_TAIL:])


def _environment() -> dict[str, str]:
    """Put a Node on PATH, so that scripts which start with `env node` find it."""
    node = frontend.find_node()
    environment = node.environment() if node else dict(os.environ)
    # pyright would take `npm` from PATH, and the one of the PyPI wheel does not start.
    environment["PYRIGHT_PYTHON_GLOBAL_NODE"] = "off"
    environment["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"
    # Hundreds of processes start; without this each compiles both packages anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for library in ("OMP", "OPENBLAS", "MKL"):  # the cores are taken by the workers
        environment.setdefault(f"{library}_NUM_THREADS", "1")
    return environment


@dataclass
class Lane:
    """Stages that run one after the other, beside other lanes."""

    waiting: list[Stage]
    running: Stage | None = None
    began: float = 0.0


@dataclass
class Board:
    """What runs, what has ended, and what is still to come."""

    lanes: list[Lane]
    folder: Path  # where outputs go
    usual: dict[str, float] = field(default_factory=dict[str, float])
    """How many seconds each stage took the last time."""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    _lock: Lock = field(default_factory=Lock)

    def run(self, ended: Callable[[Outcome], None], look: Callable[[], None]) -> None:
        """Run all lanes; ``ended`` hears of each stage, ``look`` is called meanwhile.

        A stage that fails does not stop the next.
        """
        threads = [Thread(target=self._run, args=(lane, ended)) for lane in self.lanes]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            look()
            for thread in threads:
                thread.join(0.5)

    def _run(self, lane: Lane, ended: Callable[[Outcome], None]) -> None:
        while lane.waiting:
            lane.began, lane.running = time.monotonic(), lane.waiting[0]
            del lane.waiting[0]
            outcome = run(lane.running, self.folder / f"{lane.running.name}.txt")
            with self._lock:
                self.outcomes.append(outcome)
                lane.running = None
                ended(outcome)

    def status(self) -> str:
        """Say in one line how far the running stages are, and how long it may take."""
        told: list[str] = []
        left = 0.0
        for lane in self.lanes:
            stage, waiting = lane.running, list(lane.waiting)
            wanted = sum(self.usual.get(each.name, 0) for each in waiting)
            if stage is not None:
                report, spent = stage.so_far(), time.monotonic() - lane.began
                told.append(f"{stage.name}{_part(report)}")
                wanted += _remaining(report, spent, self.usual.get(stage.name))
            left = max(left, wanted)
        line = ", ".join(told)
        return f"{line}; about {minutes(left)} left" if left else line


def _part(report: Report) -> str:
    counts = report.counts
    if not report.total:
        return ""
    failed = f", {counts.failed} failed" if counts.failed else ""
    return f" {counts.done:,} of {report.total:,}{failed}"


def _remaining(report: Report, spent: float, usual: float | None) -> float:
    """Estimate the seconds left by the last run, or else by the part that is done."""
    if usual is not None and usual > spent:
        return usual - spent
    done = report.counts.done
    return spent * (report.total - done) / done if done else 0.0


def minutes(seconds: float) -> str:
    """Write a time as minutes and seconds.

    >>> minutes(75.2)
    '1:15'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
