"""Findings whose line is in an installed package, which the user cannot change."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.text.findings import findings_text

LIBRARY = """\
import {engine} as torch

def clamped_log(x):
    y = torch.log(x)
    return y.clamp(min=-100.0)

def attention(q, mask):
    bias = torch.zeros(mask.shape).masked_fill(mask == 0, float("-inf"))
    return torch.softmax(q @ q.T + bias, -1) @ q

def mean_of_valid(x, mask):
    return torch.nan_to_num(x.sum(-1) / mask.sum(-1))

def f1(p, t):
    score = 2 * (p * t).sum(0) / (p.sum(0) + t.sum(0))
    score[torch.isnan(score)] = 0
    return score.mean()

def statistics(x):
    unused = torch.log(x * 0)
    return x * 2

def root(x):
    return torch.sqrt(x - 10)

def call(function, x):
    return function(x)
"""


@pytest.fixture(params=["gradtape", "torch"])
def lib(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    package = tmp_path / "site-packages" / "installed_one"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(LIBRARY.format(engine=request.param))
    monkeypatch.syspath_prepend(str(package.parent))
    yield importlib.import_module("installed_one")
    del sys.modules["installed_one"]


def found(lib: Any, run: Callable[[Any, Any], Any]) -> Diagnosis:
    torch = lib.torch
    w = torch.ones(3, requires_grad=True)
    with gradviz.record(engine=torch.__name__) as recorder:
        (run(torch, w).sum() + w.sum()).backward()
    return recorder.diagnose()


HEALED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a clamp": lambda lib, torch, w: lib.clamped_log(torch.tensor([0.0, 1.0])),
    "a mask": lambda lib, torch, w: lib.attention(
        w * torch.ones(3, 3), torch.ones(3, 3).tril()
    ),
    "nan_to_num": lambda lib, torch, w: lib.mean_of_valid(
        w.detach() * torch.zeros(2, 3), torch.zeros(2, 3)
    ),
    "a write": lambda lib, torch, w: lib.f1(torch.zeros(2, 3), torch.zeros(2, 3)),
}


@pytest.mark.parametrize("by", HEALED)
def test_what_a_library_mends_itself_is_no_finding(lib: Any, by: str):
    diagnosis = found(lib, lambda torch, w: HEALED[by](lib, torch, w))
    assert diagnosis.findings == ()


def test_what_a_library_computes_and_leaves_is_no_warning(lib: Any):
    (finding,) = found(lib, lambda torch, w: lib.statistics(w)).findings
    assert finding.severity == "info"


def test_a_line_of_a_library_comes_with_the_users_line(lib: Any):
    diagnosis = found(lib, lambda torch, w: lib.call(lib.root, w))
    text = findings_text(diagnosis, limit=1)
    assert text.startswith("error GV406")
    assert "\n  installed_one/__init__.py:24\n" in text
    assert "(line 24 of installed_one)" in text
    place, line = text.split("your line: ")[1].split("\n")[0].split("  ")
    assert place.startswith("test_libraries.py:")
    assert "lib.call(lib.root," in line
