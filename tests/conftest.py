"""What all tests share: profiles, markers, a Chromium, the collector held off."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.depth import EXAMPLES

ROOT = Path(__file__).resolve().parent.parent

# No deadline: on a shared machine the slowest example says nothing about the code.
# In continuous integration the examples are the same on every run.
settings.register_profile("default", deadline=None, max_examples=EXAMPLES)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


# The collector looks less often, also while tests are collected: what that makes stays,
# and would be walked again and again.
gc.set_threshold(500_000, 50, 10)

# Whoever has no PyTorch tests gradtape alone.
HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = (
    []
    if HAS_TORCH
    else [
        "gradviz/capture/pytorch/*.py",
        "gradviz/watching/test_plot.py",
        "gradviz/watching/test_watch*.py",
    ]
)


HANGS_AFTER_S = 300
_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the stream that is there before pytest captures."""
    config.stash[_STDERR] = os.dup(2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in tests/browser, and skip what wants a PyTorch not there."""
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.browser)
        if not HAS_TORCH and _wants_torch(item):
            item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))


def _wants_torch(item: pytest.Item) -> bool:
    """Tell whether a parameter of the test is the engine's name."""
    call = getattr(item, "callspec", None)
    values = call.params.values() if call is not None else ()
    return any(isinstance(value, str) and value == "torch" for value in values)


@pytest.fixture(autouse=True, scope="session")
def _seeding_asks_no_absent_device() -> None:
    """Spare PyTorch a stack of calls as text for each kind of device at each seed."""
    torch: Any = importlib.import_module("torch") if HAS_TORCH else None
    for kind in ("cuda", "mtia", "xpu"):
        device = getattr(torch, kind, None)
        if device is not None and not device.is_available():
            device.manual_seed_all = lambda seed: None


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Spare small arrays PyTorch's threads: on busy cores they wait for each other."""
    if HAS_TORCH:
        importlib.import_module("torch").set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def _collector_forgets_what_was_there() -> None:
    """Spare the collector what collecting tests left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _collector_forgets_what_lives_on() -> Iterator[None]:
    """Spare it what a module leaves for good: libraries, caches, compiled code.

    A full collection walks millions of objects otherwise, and many tests ask for one.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _what_hangs_is_told(pytestconfig: pytest.Config) -> Iterator[None]:
    """Write now and then where a module is that takes minutes.

    pytest's ``faulthandler_timeout`` starts and ends a thread for each test: 0.6 ms.
    """
    stream = pytestconfig.stash[_STDERR]
    faulthandler.dump_traceback_later(HANGS_AFTER_S, repeat=True, file=stream)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def _hook_of_errors_is_kept() -> Iterator[None]:
    """Undo what process groups do to tracebacks: they put the rank before each line."""
    before = sys.excepthook
    yield
    sys.excepthook = before


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Leave freeing to reference counts."""
    gc.disable()
    yield
    gc.enable()


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
