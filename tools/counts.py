"""Read how many tests passed from the reports of pytest and vitest."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path


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


def from_junit(report: Path) -> Counts:
    """Count a JUnit report; an error in set-up or collection is a failure.

    Raises:
        ValueError: the report is not complete XML.
    """
    try:
        root = ElementTree.parse(report).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{report} is not a JUnit report") from error
    total = Counts()
    for suite in root.iter("testsuite"):
        tests, failures, errors, skipped = (
            int(suite.get(name, "0"))
            for name in ("tests", "failures", "errors", "skipped")
        )
        failed = failures + errors
        total += Counts(tests - failed - skipped, failed, skipped)
    return total


def from_vitest(report: Path) -> Counts:
    """Count a vitest report; a file that cannot be loaded is one failure.

    Raises:
        ValueError: the report is not vitest's JSON.
    """
    data = json.loads(report.read_text(encoding="utf-8"))
    try:
        broken = [
            file
            for file in data["testResults"]
            if file["status"] == "failed" and not file["assertionResults"]
        ]
        return Counts(
            data["numPassedTests"],
            data["numFailedTests"] + len(broken),
            data["numPendingTests"] + data["numTodoTests"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"{report} is not a vitest report") from error
