"""Fixtures for the tests of the engine."""

from __future__ import annotations

import importlib.util
import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .generators import Pair


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


@pytest.fixture
def pair() -> Pair:
    """Two generators of one seed, ours and PyTorch's; skips where that is missing."""
    from .generators import Pair

    made = Pair()
    made.seed(1234)
    return made
