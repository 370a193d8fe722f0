"""What all tests share: hypothesis profiles, the browser marker, a Chromium."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# No deadline: on a shared machine the slowest example says nothing about the code.
# In continuous integration the examples are the same on every run.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in tests/browser, so that no file there can forget to."""
    browser = ROOT / "tests" / "browser"
    for item in items:
        if item.path.is_relative_to(browser):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(autouse=True)
def _hook_of_errors_is_kept() -> Iterator[None]:
    """Undo what process groups do to tracebacks: they put the rank before each line."""
    before = sys.excepthook
    yield
    sys.excepthook = before


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium to hand to Playwright as ``executable_path``."""
    from tools import browser

    path = browser.find()
    if path is None:
        pytest.fail(browser.MISSING)
    return path
