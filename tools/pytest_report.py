"""A pytest plugin that writes what each test did to a file, a line of JSON at a time.

Loaded by ``-p tools.pytest_report --lines-report=FILE``. The file can be read while the
tests run; with workers, only the process that hands out the tests writes it.

The first line says how many tests there are: ``{"total": 3}``. One line for each test
follows, once it is over::

    {"test": "tests/test_a.py::test_b", "outcome": "failed", "seconds": 0.1, "text": …}

``outcome`` is passed, failed or skipped; a test that broke while it was set up or taken
down has failed, and so has a file that could not be collected. ``text`` is why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

_LINES = 12  # of a failure, from its end


class LinesReport:
    """Writes the file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._total = 0
        self._phases: dict[str, list[pytest.TestReport]] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """Say how many tests there are: every worker finds the same ones."""
        self._say_total(len(ids))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say how many tests there are, where there are no workers."""
        if session.items:
            self._say_total(len(session.items))

    def _say_total(self, total: int) -> None:
        if total != self._total:
            self._total = total
            self._write({"total": total})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count what cannot be collected as a failure."""
        if report.failed:
            self._test(report.nodeid, "failed", 0.0, report.longreprtext)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a test once its last phase is over; one that is repeated, once."""
        phases = self._phases.setdefault(report.nodeid, [])
        phases.append(report)
        if report.when != "teardown":
            return
        del self._phases[report.nodeid]
        if any(str(each.outcome) == "rerun" for each in phases):
            return
        first = {each.outcome: each for each in reversed(phases)}
        told = first.get("failed") or first.get("skipped") or phases[0]
        seconds = sum(each.duration for each in phases)
        self._test(report.nodeid, told.outcome, seconds, told.longreprtext)

    def _test(self, name: str, outcome: str, seconds: float, text: str) -> None:
        told = {"test": name, "outcome": outcome, "seconds": round(seconds, 4)}
        if outcome == "failed":
            told["text"] = "\n".join(text.rstrip().splitlines()[-_LINES:])
        self._write(told)

    def _write(self, told: dict[str, Any]) -> None:
        self._file.write(json.dumps(told) + "\n")
        self._file.flush()

    def pytest_unconfigure(self) -> None:
        """Close the file."""
        self._file.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--lines-report", metavar="FILE", type=Path, default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Write where a file is named, and only in the process that knows all tests."""
    path = config.getoption("--lines-report")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(LinesReport(path), "lines-report")
