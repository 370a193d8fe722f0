"""What a recorder says of itself: one line, with what was found."""

from __future__ import annotations

import importlib
import re
from contextlib import suppress
from typing import Any

import pytest

import gradviz
from gradviz._capture import session


@pytest.fixture(params=["gradtape", "torch"])
def lib(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def overwritten(lib: Any) -> Any:
    recorder = gradviz.record(engine=lib.__name__, title="run")
    with suppress(RuntimeError), recorder:
        x = lib.ones(2, requires_grad=True)
        y = x.exp()
        y += 1
        y.sum().backward()
    return recorder


def test_a_recorder_names_its_first_finding_in_one_line(lib: Any):
    line = overwritten.__code__.co_firstlineno + 5
    assert repr(overwritten(lib)) == (
        f"<recorder 'run' of {lib.__name__}: 1 backward pass, "
        f"error GV101 inplace-saved-output, line {line}>"
    )


def test_a_recorder_without_findings_says_so(lib: Any):
    with gradviz.record(engine=lib.__name__) as recorder:
        lib.ones(2, requires_grad=True).sum().backward()
        assert repr(recorder).endswith("so far, recording>")
    assert repr(recorder).endswith("1 backward pass, no findings>")


def test_findings_that_nobody_wanted_are_not_looked_for(lib: Any):
    with gradviz.record(engine=lib.__name__, findings=False) as recorder:
        lib.ones(2, requires_grad=True).sum().backward()
    assert repr(recorder).endswith("findings were not asked for>")


def test_a_repr_never_raises(lib: Any, monkeypatch: pytest.MonkeyPatch):
    recorder = overwritten(lib)

    def fail(self: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(session.Session, "diagnose", fail)
    assert repr(recorder).endswith("no verdict: ValueError>")


def test_a_repr_of_a_long_run_says_what_is_known(lib: Any):
    x = lib.ones(2, requires_grad=True)
    with gradviz.record(engine=lib.__name__) as recorder:
        for _ in range(800):
            (x * 2).sum().backward()
    assert re.search(
        r"800 backward passes, 2,\d+ events, not diagnosed", repr(recorder)
    )
    recorder.diagnose()
    assert repr(recorder).endswith("800 backward passes, no findings>")
