"""What is said where an engine or a package of an extra is not installed."""

from __future__ import annotations

import sys

import pytest

import gradviz
from gradviz._capture.open_log import installed_engine
from gradviz.extras import is_installed, missing
from gradviz.running.script import engine_of


@pytest.fixture(params=["gradtape", "torch", "gradtape torch"])
def absent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The packages that cannot be imported, as if they were not installed."""
    for name in request.param.split():
        monkeypatch.setitem(sys.modules, name, None)
    return request.param


def test_packages_are_named_with_the_extra_that_brings_them(absent: str):
    gone = "gradtape" in absent
    assert is_installed("gradtape") is not gone
    told = missing("gradtape")
    assert (told is not None) is gone
    assert told is None or "`pip install 'autogradviz[gradtape]'`" in told


def test_a_program_that_names_no_engine_gets_one_that_is_there(absent: str):
    engine = {"gradtape": "torch", "torch": "gradtape", "gradtape torch": "gradtape"}
    assert installed_engine() == engine[absent]
    assert engine_of(b"import json, numpy") == engine[absent]
    assert engine_of(b"import models") == engine[absent]


def test_a_recording_says_which_engine_to_install(absent: str):
    sentences = {
        "gradtape": r"gradtape is not installed here; .*autogradviz\[gradtape\]",
        "torch": "PyTorch is not installed here",
        "gradtape torch": "neither PyTorch nor gradtape is installed here",
    }
    engine = "torch" if absent == "torch" else "gradtape"
    recorder = gradviz.record(engine=engine)
    with pytest.raises(gradviz.CaptureError, match=sentences[absent]), recorder:
        raise AssertionError("the block must not run")
