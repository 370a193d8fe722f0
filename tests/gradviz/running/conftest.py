"""One process that has imported gradviz, and forks."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.gradviz.running.processes import Run, forking_gradviz


@pytest.fixture(scope="package")
def gradviz() -> Iterator[Run]:
    """Return a function that runs ``gradviz`` in a process of its own."""
    if not hasattr(os, "fork"):
        pytest.skip("processes are forked")
    with forking_gradviz() as run:
        yield run
