"""Run every check and sum up: what ``make test``, ``make lint`` and their like do.

Linters, type checkers, vitest and the browser run beside pytest, so that no core waits.
A stage that fails does not stop the next. The last line counts over all stages.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools import counts, frontend
from tools.counts import Counts
from tools.stages import ROOT, Board, Lane, Outcome, Stage, minutes

TIMES = ROOT / ".pytest_cache" / "seconds.json"
"""How long each stage and each test took the last time, for whoever asks later."""

# A busy machine can keep a browser from acting in time; what a test asserts is final.
RERUNS = ["--reruns", "1", "--only-rerun", "TimeoutError"]

WORKERS = min(os.cpu_count() or 1, 4)

# Neighbours run in one process until another runs dry: what they share is made once.
PARALLEL = ["--numprocesses", str(WORKERS), "--dist", "worksteal"]

# The same examples in every run; a developer's own pytest goes on looking for new ones.
_SAME = ["--hypothesis-seed=0"]

# Seconds between two lines on how far it is.
_OVERWRITTEN_S, _LINES_S = 5.0, 30.0

_SLOWEST = 10
_SHOWN_FAILURES = 20


def stages(reports: Path) -> list[list[Stage]]:
    """List the stages, lane by lane, in the order in which they run."""
    python = [sys.executable, "-m"]
    vitest = reports / "vitest.json"
    return [
        [pytest("pytest", reports, "--ignore=tests/browser", *PARALLEL, *_SAME)],
        [pytest("browser", reports, "tests/browser", *RERUNS)],  # it mostly waits
        [
            Stage("ruff check", "lint", [*python, "ruff", "check", "--quiet", "."]),
            Stage("ruff format", "lint", [*python, "ruff", "format", "--check", "."]),
            npm("biome", "lint", ["run", "--silent", "lint"]),
            npm("tsc", "lint", ["run", "--silent", "typecheck"]),
            Stage("pyright", "lint", [*python, "pyright"]),
            npm(
                "vitest",
                "test",
                [
                    *("test", "--silent", "--", "--reporter=default"),
                    *("--reporter=json", f"--outputFile.json={vitest}"),
                ],
                vitest,
            ),
        ],
    ]


def pytest(
    name: str, reports: Path, *arguments: str, deadline: float | None = None
) -> Stage:
    """Return a stage of tests in Python; none begins after a deadline, in seconds."""
    report = reports / f"{name}.jsonl"
    options = ["--quiet", "-p", "tools.pytest_report", f"--lines-report={report}"]
    hurried = deadline is not None
    if hurried:
        options += ["-p", "tools.pytest_deadline", f"--deadline={deadline}"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    return Stage(name, "test", command, ROOT, report, counts.from_pytest, hurried)


def npm(
    name: str, group: str, arguments: list[str], report: Path | None = None
) -> Stage:
    """Return a stage of a script in the front end's ``package.json``."""
    node = frontend.find_node()
    command = [*(node.npm if node else ["npm"]), *arguments]
    read = counts.from_vitest if report else None
    return Stage(name, group, command, ROOT / "extension", report, read)


@dataclass
class Screen:
    """Prints stages as they end, and in between how far the others are."""

    tty: bool = field(default_factory=sys.stdout.isatty)
    began: float = field(default_factory=time.monotonic)
    _shown: float = 0.0

    def ended(self, outcome: Outcome) -> None:
        """Print what became of a stage."""
        counted = outcome.report.counts
        verdict = "FAILED" if counted.failed else "ok"
        many = f" {counted.passed:,} passed," if outcome.stage.read else ""
        failed = f" {counted.failed} failed," if counted.failed else ""
        self._print(
            f"{verdict:<6} {outcome.stage.name}:{many}{failed} {outcome.seconds:.0f} s"
        )

    def progress(self, status: Callable[[], str]) -> None:
        """Print how far it is, now and then; to ask reads all that was reported."""
        now = time.monotonic()
        if now - self._shown < (_OVERWRITTEN_S if self.tty else _LINES_S):
            return
        self._shown = now
        if self.tty:
            print(f"\r\033[K{self._clock()} {status()}"[:200], end="", flush=True)
        else:
            self._print(status())

    def _print(self, text: str) -> None:
        start = "\r\033[K" if self.tty else ""
        print(f"{start}{self._clock()} {text}", flush=True)

    def _clock(self) -> str:
        return f"{minutes(time.monotonic() - self.began):>5}"


def summary(outcomes: list[Outcome], wall: float) -> str:
    """Return failures, slow tests, the table and, as the last line, all counts."""
    total = sum((each.report.counts for each in outcomes), Counts())
    cpu = sum(each.cpu for each in outcomes)
    return "\n".join(
        [
            *_failures(outcomes),
            *_slowest(outcomes),
            *_table(outcomes),
            f"{'together':<14}{'':>25}{wall:>9.1f}{cpu:>9.1f}",
            "",
            f"{total.passed} passed, {total.failed} failed",
        ]
    )


def _failures(outcomes: list[Outcome]) -> list[str]:
    failed = [(o.stage.name, f) for o in outcomes for f in o.report.failures]
    lines: list[str] = []
    for stage, failure in failed[:_SHOWN_FAILURES]:
        lines += [f"FAILED ({stage}) {failure.test}"]
        lines += [f"    {line}" for line in failure.text.splitlines()] + [""]
    more = len(failed) - _SHOWN_FAILURES
    return [*lines, f"and {more} more failures", ""] if more > 0 else lines


def _slowest(outcomes: list[Outcome]) -> list[str]:
    seconds = {n: s for o in outcomes for n, s in o.report.seconds.items()}
    if len(seconds) <= _SLOWEST:
        return []
    slow = sorted(seconds, key=lambda name: -seconds[name])[:_SLOWEST]
    share = sum(seconds[name] for name in slow) / (sum(seconds.values()) or 1)
    lines = [f"The {_SLOWEST} slowest tests take {share:.0%} of the tests' time:"]
    return [*lines, *(f"{seconds[name]:>9.1f} s  {name}" for name in slow), ""]


def _table(outcomes: list[Outcome]) -> list[str]:
    head = f"{'stage':<14}{'passed':>8}{'failed':>8}{'skipped':>9}"
    lines = [f"{head}{'seconds':>9}{'CPU':>9}"]
    for outcome in outcomes:
        counted = outcome.report.counts
        lines.append(
            f"{outcome.stage.name:<14}{counted.passed:>8}{counted.failed:>8}"
            f"{counted.skipped:>9}{outcome.seconds:>9.1f}{outcome.cpu:>9.1f}"
            f"  {outcome.note}".rstrip()
        )
    return lines


def usual() -> dict[str, dict[str, float]]:
    """Return how long stages and tests took the last time; nothing where unknown."""
    try:
        known = json.loads(TIMES.read_text(encoding="utf-8"))
        return {"stages": dict(known["stages"]), "tests": dict(known["tests"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"stages": {}, "tests": {}}


def remember(outcomes: list[Outcome]) -> None:
    """Keep the times of this run for the next; losing them costs an estimate."""
    known = usual()
    for outcome in outcomes:
        known["stages"][outcome.stage.name] = round(outcome.seconds, 1)
        seconds = outcome.report.seconds
        whole = not outcome.stage.hurried  # what is gone, goes
        ran = {name.partition("::")[0] for name in seconds if whole}
        known["tests"] = {
            name: each
            for name, each in known["tests"].items()
            if name.partition("::")[0] not in ran
        } | seconds
    try:
        TIMES.parent.mkdir(exist_ok=True)
        TIMES.write_text(json.dumps(known), encoding="utf-8")
    except OSError:
        pass


def run(lanes: list[list[Stage]], folder: Path) -> int:
    """Run lanes of stages, print what becomes of them; return 1 if something failed."""
    board = Board([Lane(list(lane)) for lane in lanes], folder, usual()["stages"])
    screen = Screen()
    board.run(screen.ended, lambda: screen.progress(board.status))
    outcomes = board.outcomes
    print(f"\n{summary(outcomes, time.monotonic() - screen.began)}", flush=True)
    remember(outcomes)
    return int(any(outcome.report.counts.failed for outcome in outcomes))


def main() -> int:
    """Run the stages; exit with 1 when anything failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", metavar="NAME", help="a group (lint, test) or stage")
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="hundreds of examples of each property, more steps of each program",
    )
    options = parser.parse_args()
    if options.thorough:
        os.environ["GRADVIZ_THOROUGH"] = "1"  # tests/depth.py reads it
    with tempfile.TemporaryDirectory(prefix="gradviz-check-") as folder:
        only = options.only
        lanes = [
            [each for each in lane if only in (None, each.group, each.name)]
            for lane in stages(Path(folder))
        ]
        if not any(lanes):
            parser.error(f"there is no stage or group called {only!r}")
        return run(lanes, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
