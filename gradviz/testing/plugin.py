"""The pytest plugin: ``pytest --gradviz`` records each test, tells what it found."""

from __future__ import annotations

import pytest

_MARKER = (
    "gradviz(fail_on='error', ignore=['GV306']): with --gradviz, which findings fail "
    "the test, and which are not told"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, which `pytest --help` lists under our name."""
    group = parser.getgroup("gradviz", "gradients (gradviz)")
    group.addoption(
        "--gradviz",
        action="store_true",
        help="record every test, and tell what is wrong with its gradients",
    )
    group.addoption(
        "--gradviz-fail-on",
        choices=["error", "warning", "never"],
        help="fail a test with a finding that severe or worse; implies --gradviz. "
        "Default: never",
    )
    group.addoption(
        "--gradviz-update",
        action="store_true",
        help="let gradviz.assert_same_graph write the graphs instead of comparing them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and what the options ask for."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("--gradviz-update"):
        from gradviz.testing.graphs import UPDATES

        token = UPDATES.set(True)
        config.add_cleanup(lambda: UPDATES.reset(token))
    fail_on = config.getoption("--gradviz-fail-on")
    if config.getoption("--gradviz") or fail_on is not None:
        from gradviz.testing.recorded_tests import RecordedTests

        recorded = RecordedTests(fail_on or "never")
        config.pluginmanager.register(recorded, "gradviz-recorded-tests")
