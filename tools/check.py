"""Run every check stage by stage and sum up: what ``make test`` and ``make lint`` do.

A stage that fails does not stop the next. The last line counts over all stages.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools import counts, frontend
from tools.counts import Counts

ROOT = frontend.ROOT
_LIMIT_SECONDS = 1_200  # for one stage; the longest takes a few minutes

# A busy machine can keep a browser from acting in time; what a test asserts is final.
_RERUNS = ["--reruns", "1", "--only-rerun", "TimeoutError"]


# The same examples in every run; a developer's own pytest goes on looking for new ones.
_SAME = ["--hypothesis-seed=0"]


@dataclass(frozen=True)
class Stage:
    """One command, and how to count what it did."""

    name: str
    group: str  # what --only selects: "lint" or "test"
    command: list[str]
    folder: Path = ROOT
    report: Path | None = None  # the file from which `read` counts
    read: Callable[[Path], Counts] | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a stage."""

    stage: Stage
    counts: Counts
    seconds: float
    note: str = ""


def stages(reports: Path) -> list[Stage]:
    """List the stages in the order in which they run; cheap ones first."""
    python = [sys.executable, "-m"]
    workers = str(min(os.cpu_count() or 1, 4))
    unit, browser, vitest = (
        reports / name for name in ("unit.xml", "browser.xml", "vitest.json")
    )
    pytest = [*python, "pytest", "--quiet"]
    parallel = ["--numprocesses", workers, "--dist", "loadgroup"]
    return [
        Stage(
            "ruff check",
            "lint",
            [*python, "ruff", "check", "--output-format=concise", "."],
        ),
        Stage("ruff format", "lint", [*python, "ruff", "format", "--check", "."]),
        Stage("pyright", "lint", [*python, "pyright"]),
        _npm("biome", "lint", ["run", "--silent", "lint"]),
        _npm("tsc", "lint", ["run", "--silent", "typecheck"]),
        Stage(
            "pytest",
            "test",
            [*pytest, "-m", "not browser", *parallel, *_SAME, f"--junit-xml={unit}"],
            report=unit,
            read=counts.from_junit,
        ),
        _npm(
            "vitest",
            "test",
            [
                *("test", "--silent", "--", "--reporter=default", "--reporter=json"),
                f"--outputFile.json={vitest}",
            ],
            report=vitest,
            read=counts.from_vitest,
        ),
        Stage(
            "browser",
            "test",
            [*pytest, "tests/browser", *_RERUNS, f"--junit-xml={browser}"],
            report=browser,
            read=counts.from_junit,
        ),
    ]


def _npm(
    name: str,
    group: str,
    arguments: list[str],
    report: Path | None = None,
    read: Callable[[Path], Counts] | None = None,
) -> Stage:
    node = frontend.find_node()
    npm = list(node.npm) if node else ["npm"]
    folder = ROOT / "extension"
    return Stage(name, group, [*npm, *arguments], folder, report, read)


def run(stage: Stage) -> Outcome:
    """Run one stage, its output going straight to the terminal."""
    print(f"\n== {stage.name}", flush=True)
    began = time.monotonic()
    note = ""
    try:
        status = subprocess.run(
            stage.command,
            cwd=stage.folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_SECONDS,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        status, note = 1, f"stopped after {_LIMIT_SECONDS} s"
    except OSError as error:
        status, note = 1, str(error)
    counted = _count(stage, status)
    if status and counted.failed and stage.read and not note:
        note = f"exit status {status}"
    return Outcome(stage, counted, time.monotonic() - began, note)


def _count(stage: Stage, status: int) -> Counts:
    """Count from the stage's report; a stage without one is a single check."""
    if stage.read is None or stage.report is None:
        return Counts(failed=1) if status else Counts(passed=1)
    try:
        counted = stage.read(stage.report)
    except (OSError, ValueError):
        return Counts(failed=1)  # it broke before it could report
    if status and not counted.failed:
        return counted + Counts(failed=1)  # the runner itself failed
    return counted


def _environment() -> dict[str, str]:
    """Put a Node on PATH, so that scripts which start with `env node` find it."""
    node = frontend.find_node()
    environment = node.environment() if node else dict(os.environ)
    # pyright would take `npm` from PATH, and the one of the PyPI wheel does not start.
    environment["PYRIGHT_PYTHON_GLOBAL_NODE"] = "off"
    environment["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"
    return environment


def summary(outcomes: list[Outcome]) -> str:
    """Return the table and, as the last line, the counts over all stages."""
    lines = [f"{'stage':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}"]
    total = Counts()
    for outcome in outcomes:
        counted = outcome.counts
        total += counted
        lines.append(
            f"{outcome.stage.name:<14}{counted.passed:>8}{counted.failed:>8}"
            f"{counted.skipped:>9}{outcome.seconds:>9.1f}  {outcome.note}".rstrip()
        )
    return "\n".join([*lines, "", f"{total.passed} passed, {total.failed} failed"])


def main() -> int:
    """Run the stages; exit with 1 when anything failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", metavar="NAME", help="a group (lint, test) or stage")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory(prefix="gradviz-check-") as reports:
        chosen = [
            stage
            for stage in stages(Path(reports))
            if only in (None, stage.group, stage.name)
        ]
        if not chosen:
            parser.error(f"there is no stage or group called {only!r}")
        outcomes = [run(stage) for stage in chosen]
    print(f"\n{summary(outcomes)}", flush=True)
    return int(any(outcome.counts.failed for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
