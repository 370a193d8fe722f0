"""A pytest plugin that begins no test after some seconds.

Loaded by ``-p tools.pytest_deadline --deadline=SECONDS``, which count from the start of
each process, with what it collects. What began is finished, and one test always begins;
the others are left out without a report.
"""

from __future__ import annotations

import time

import pytest


class Deadline:
    """Passes over the tests that come too late."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._began = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        """Say that a late test was run, so that nobody runs it."""
        if self._began and time.monotonic() > self._end:
            return True
        self._began = True
        return None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the time."""
    parser.addoption("--deadline", metavar="SECONDS", type=float, default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Start the clock, also in each worker."""
    seconds = config.getoption("--deadline")
    if seconds is not None:
        config.pluginmanager.register(Deadline(seconds), "deadline")
