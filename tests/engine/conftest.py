"""Fixtures for the tests of the engine."""

from __future__ import annotations

import importlib.util
import multiprocessing
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .random.generators import Pair


@pytest.fixture(autouse=True, scope="session")
def _first_warnings_are_given() -> None:
    """Let those calls warn before the tests that do so once per process."""
    libraries = [importlib.import_module("gradtape")]
    if importlib.util.find_spec("torch"):
        libraries.append(importlib.import_module("torch"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in libraries:
            x, at = t.ones(1), t.zeros(1, dtype=t.int64)
            t.index_reduce(x, 0, at, x, "prod")
            x.storage()
            with t.enable_grad():
                float(t.ones(1, requires_grad=True))


@pytest.fixture(scope="session")
def warm_forward_mode() -> None:
    """Let PyTorch's first forward pass, which compiles something, warn beforehand."""
    if importlib.util.find_spec("torch") is None:
        return  # nothing to compare with: those tests are skipped
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


@pytest.fixture
def forked() -> Iterator[None]:
    """Fork worker processes: they take over datasets that cannot be pickled."""
    if sys.platform == "win32":
        pytest.skip("no processes are forked here")
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


@pytest.fixture
def pair() -> Pair:
    """Two generators of one seed, ours and PyTorch's; skips where that is missing."""
    from .random.generators import Pair

    made = Pair()
    made.seed(1234)
    return made
