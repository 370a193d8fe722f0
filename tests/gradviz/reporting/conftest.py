"""What tests of documents share: a checkout to run programs in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty checkout as the working folder."""
    top = tmp_path / "check out"
    (top / ".git").mkdir(parents=True)
    monkeypatch.chdir(top)
    return top
