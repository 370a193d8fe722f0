"""Finding a Chromium that starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import browser


def program(folder: Path, name: str, status: int) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\nexit {status}\n")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is all of PATH, on a machine without other Chromiums."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("GRADVIZ_CHROMIUM", raising=False)
    monkeypatch.setattr(browser, "_managed_by_playwright", lambda: None)
    names = [name for name in browser._NAMES if not name.startswith("/")]
    monkeypatch.setattr(browser, "_NAMES", names)
    return tmp_path


def test_none_is_found_where_there_is_none(path: Path):
    assert browser.find() is None


def test_one_on_path_is_found(path: Path):
    chromium = program(path, "chromium", 0)
    assert browser.find() == chromium


def test_one_that_does_not_start_is_passed_over(path: Path):
    program(path, "chromium", 1)
    chrome = program(path, "google-chrome", 0)
    assert browser.find() == chrome


def test_a_named_one_wins(path: Path, monkeypatch: pytest.MonkeyPatch):
    program(path, "chromium", 0)
    mine = program(path, "mine", 0)
    monkeypatch.setenv("GRADVIZ_CHROMIUM", mine)
    assert browser.find() == mine


def test_a_failed_installation_ends_with_the_ways_out(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(browser, "_try", lambda *_: None)
    assert browser.main() == 1
    assert capsys.readouterr().err.strip() == browser.MISSING
