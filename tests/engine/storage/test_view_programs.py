"""Random programs of views and writes give under gradtape what they give in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import gradtape

from .view_programs import Step, play, programs

EARLIER = (
    "Inference tensors cannot be saved",
    "Inplace update to inference tensor",
    "a leaf Variable that requires grad",
    "modified inplace",
    "functions with out=... arguments",
    "detached in-place",
)
"""Where a call is wrong twice, PyTorch may name either; one of these is then told."""


@settings(derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs)
def test_a_program_does_what_it_does_in_pytorch(program: list[Step]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = play(gradtape, program), play(torch, program)
    for mine, yours in zip(ours, theirs, strict=True):
        if "INTERNAL ASSERT" in str(yours):
            return  # PyTorch's own bookkeeping broke: nothing left to compare with
        assert mine == yours or _both_refuse(mine, yours)


def _both_refuse(mine: Any, yours: Any) -> bool:
    told = [str(each) for each in (mine, yours) if "RuntimeError" in str(each)]
    return len(told) == 2 and any(words in each for words in EARLIER for each in told)
