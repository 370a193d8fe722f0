"""``gradviz`` in processes of its own, for the price of a fork."""

from __future__ import annotations

import pytest

from tests.gradviz.running import processes
from tests.gradviz.running.processes import Run


@pytest.fixture
def gradviz() -> Run:
    """Return a function that runs ``gradviz`` in a process of its own."""
    return processes.gradviz
