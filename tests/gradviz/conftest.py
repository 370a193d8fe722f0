"""Shared fixtures: both engines, a viewer not built, a recorder without an engine."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from gradviz import _capture, ir
from gradviz._capture import detail
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.render import html
from tests.gradviz import samples


@pytest.fixture(params=["gradtape", "torch"])
def engine(request: pytest.FixtureRequest) -> Any:
    """The name of each engine in turn."""
    return request.param


@pytest.fixture
def lib(engine: str) -> Any:
    """Each engine in turn."""
    return importlib.import_module(engine)


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a stand-in in place of the built viewer; what it does is tested elsewhere."""
    path = tmp_path / "gradviz.js"
    path.write_text("globalThis.gradviz = { mountPage: () => 0 };", encoding="utf-8")
    monkeypatch.setattr(html, "BUNDLE", path)
    return path


@pytest.fixture(autouse=True)
def every_step_in_full(monkeypatch: pytest.MonkeyPatch):
    """Let no test hang on how fast the machine is: steps in brief have their own."""
    monkeypatch.setattr(detail, "_AT_ONCE", 1e9)


class FakeRecorder:
    """Records nothing; what a real recorder records is tested with the engine."""

    made: list[FakeRecorder]
    passes = 1
    routine_notes = frozenset[str]()

    def __init__(self, *, title: str = "", steps: int = 4, **_: object) -> None:
        self.title = title
        self.steps = steps
        self.error: BaseException | None = None
        self.exits = 0
        FakeRecorder.made.append(self)

    def __enter__(self) -> FakeRecorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(error)

    def passes_told(self) -> tuple[int, int]:
        return self.passes, self.passes

    def begin(self, frame: object) -> None:
        """Start to record."""

    def end(self, error: BaseException | None = None) -> None:
        self.error = error
        self.exits += 1

    def diagnose(self) -> Diagnosis:
        assert self.exits == 1, "diagnosed before the recording ended"
        return Diagnosis((), (), ())

    def snapshot(self) -> ir.Snapshot:
        assert self.exits == 1, "read before the recording ended"
        return replace(samples.mlp(), title=self.title)


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> list[FakeRecorder]:
    """Replace gradviz.record() by a fake; return the recorders it makes."""
    monkeypatch.setattr(_capture, "record", FakeRecorder, raising=False)
    FakeRecorder.made = []
    return FakeRecorder.made


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that writes a script into an otherwise empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gradviz.showing.browser.open_page", lambda _: False)

    def write(text: str) -> Path:
        path = Path("folder") / "script.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write
