"""Where Python can start no thread and no process: what is refused, what goes on."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest

import gradtape
import gradviz
from gradviz import live
from gradviz.running.trial import tried
from gradviz.threads import started


def no_thread(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("can't start new thread")


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread)


def test_a_thread_that_cannot_start_is_told(without_threads: None):
    assert started(threading.Thread(target=print)) is False


def test_a_stepped_pass_is_refused_and_leaves_no_hook(without_threads: None):
    x = gradtape.ones(2, requires_grad=True)
    loss = (x * x).sum()
    with pytest.raises(gradviz.CaptureError, match="this Python can start none"):
        gradviz.step(loss)
    loss.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_live_view_waits_for_its_end(without_threads: None):
    source: Any = object()
    feed = live.LiveFeed(source, source)
    feed.start()
    feed.join(timeout=1)
    feed.close()
    assert feed.sent.failures == []


def test_a_trial_says_that_there_are_no_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def no_process(*_: object, **__: object) -> NoReturn:
        raise OSError(138, "emscripten does not support processes.")

    script = tmp_path / "train.py"
    script.write_text("import gradtape\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", no_process)
    trial = tried(str(script), [], {}, timeout_s=1)
    assert trial.failure == (
        "no process could be started: emscripten does not support processes."
    )
