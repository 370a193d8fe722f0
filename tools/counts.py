"""Read what tests did from the reports of pytest and vitest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Failure:
    """A test that failed, and the end of what was said about it."""

    test: str
    text: str


@dataclass(frozen=True)
class Counts:
    """How many checks passed, failed and did not run."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )

    @property
    def done(self) -> int:
        """How many there are."""
        return self.passed + self.failed + self.skipped


@dataclass
class Report:
    """What a runner did, or has done so far."""

    counts: Counts = field(default_factory=Counts)
    total: int = 0  # 0: not known
    failures: list[Failure] = field(default_factory=list[Failure])
    seconds: dict[str, float] = field(default_factory=dict[str, float])  # by test


def from_pytest(path: Path) -> Report:
    """Read the report of :mod:`tools.pytest_report`, also an unfinished one.

    Raises:
        ValueError: it is not such a report.
    """
    report, passed, skipped = Report(), 0, 0
    for line in _whole_lines(path):
        told = json.loads(line)
        try:
            if "total" in told:
                report.total = told["total"]
                continue
            name, outcome = told["test"], told["outcome"]
            report.seconds[name] = told["seconds"]
            passed += outcome == "passed"
            skipped += outcome == "skipped"
            if outcome == "failed":
                report.failures.append(Failure(name, told["text"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a report of pytest") from error
    report.counts = Counts(passed, len(report.failures), skipped)
    if not report.total and not report.failures:
        raise ValueError(f"{path} tells of no tests")
    return report


def _whole_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from (line for line in file if line.endswith("\n"))


def from_vitest(path: Path) -> Report:
    """Read a report of vitest; a file that cannot be loaded is one failure.

    Raises:
        ValueError: the report is not vitest's JSON.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    try:
        report = Report(total=data["numTotalTests"])
        for file in data["testResults"]:
            report.failures += _failures(file)
            for test in file["assertionResults"]:
                name = f"{file['name']} {test['fullName']}"
                report.seconds[name] = (test.get("duration") or 0) / 1e3
        skipped = data["numPendingTests"] + data["numTodoTests"]
        report.counts = Counts(data["numPassedTests"], len(report.failures), skipped)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a vitest report") from error
    return report


def _failures(file: dict[str, Any]) -> list[Failure]:
    failed = [each for each in file["assertionResults"] if each["status"] == "failed"]
    found = [Failure(t["fullName"], _told(t["failureMessages"])) for t in failed]
    if file["status"] == "failed" and not file["assertionResults"]:
        found.append(Failure(file["name"], file.get("message", "")))
    return found


def _told(messages: list[str]) -> str:
    """Return messages without the frames of the runner; it gives timeouts no text."""
    text = "\n".join(messages).replace("Error: STACK_TRACE_ERROR", "Error: timed out")
    foreign = ("node_modules", "node:internal")
    lines = text.splitlines()
    return "\n".join(ln for ln in lines if not any(part in ln for part in foreign))
