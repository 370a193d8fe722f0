"""Fixtures for the tests of the engine."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .generators import Pair


@pytest.fixture(autouse=True, scope="session")
def _beta_is_known() -> None:
    """Let index_reduce warn, which it does once per process, before the tests."""
    import gradtape

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, at = gradtape.ones(1), gradtape.zeros(1, dtype=gradtape.int64)
        gradtape.index_reduce(x, 0, at, x, "prod")


@pytest.fixture
def pair() -> Pair:
    """Two generators of one seed, ours and PyTorch's; skips where that is missing."""
    from .generators import Pair

    made = Pair()
    made.seed(1234)
    return made
