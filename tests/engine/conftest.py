"""Fixtures for the tests of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .generators import Pair


@pytest.fixture
def pair() -> Pair:
    """Two generators of one seed, ours and PyTorch's; skips where that is missing."""
    from .generators import Pair

    made = Pair()
    made.seed(1234)
    return made
