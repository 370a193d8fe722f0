"""A script that runs for long says on a terminal how far it is."""

from __future__ import annotations

import io
import os
import re
from typing import Any

import pytest

import gradtape
import gradviz
from gradviz._capture import detail
from gradviz.running import steps_so_far
from gradviz.running.steps_so_far import StepsSoFar, is_terminal
from gradviz.running.voice import Voice


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _said(lib: Any, stream: Any, steps: int, **options: Any) -> None:
    voice = Voice()
    voice.stream = stream
    session = gradviz.record(engine=lib.__name__, **options)
    session.after_pass = StepsSoFar(voice, session, first=0)
    x = lib.ones(2, requires_grad=True)
    with session:
        for _ in range(steps):
            (x * 2).sum().backward()


def test_each_word_waits_longer_than_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([0.0, *range(1, 100)])
    monkeypatch.setattr(steps_so_far.time, "monotonic", lambda: next(times))
    voice, session = Voice(), gradviz.record(engine="gradtape")
    stream = voice.stream = _Terminal()
    session.after_pass = StepsSoFar(voice, session, first=10)
    x = gradtape.ones(2, requires_grad=True)
    with session:
        for _ in range(90):
            (x * 2).sum().backward()
    lines = stream.getvalue().splitlines()
    assert [re.findall(r"\d+", line) for line in lines] == [
        ["10"] * 2,
        ["30"] * 2,
        ["70"] * 2,
    ]


def test_it_says_how_many_were_looked_at_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(detail, "_AT_ONCE", -1e9)
    monkeypatch.setattr(steps_so_far, "_MOST", 0)
    stream = _Terminal()
    _said(torch, stream, 6)
    assert "gradviz: 2 passes in 0 s." in stream.getvalue()
    last = stream.getvalue().splitlines()[-1]
    assert last.startswith("gradviz: 6 passes in 0 s, 2 of them looked at in full")


def test_its_line_begins_below_what_the_script_has_begun() -> None:
    if not hasattr(os, "openpty"):
        pytest.skip("there are no terminals to try it on")
    ours, theirs = os.openpty()
    with open(ours, "rb", buffering=0) as seen, open(theirs, "w") as stream:
        import termios

        termios.tcsetwinsize(stream.fileno(), (24, 40))
        stream.write("12%|##")
        _said(gradtape, stream, 1)
        came = b""
        while not came.endswith(b"\n"):
            came += seen.read(1_000)
    begun, line = came.decode().split("\r", 1)
    assert begun == "12%|##" + " " * 40  # which a terminal of this width has wrapped
    assert line.startswith("gradviz: 1 pass in 0 s.")


def test_only_a_terminal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    voice = Voice()
    for stream, expected in [
        (_Terminal(), True),
        (io.StringIO(), False),
        (None, False),
    ]:
        voice.stream = stream
        monkeypatch.setenv("TERM", "xterm")
        assert is_terminal(voice) is expected
    voice.stream = _Terminal()
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(voice)
