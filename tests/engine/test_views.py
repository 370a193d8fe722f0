"""Views against PyTorch: random chains of views and writes, and what views promise."""

from __future__ import annotations

from typing import Any

import gradtape
import pytest
from hypothesis import HealthCheck, given, settings

from .chains import Step, chains, play, starts
from .oracle import assert_same


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(starts, chains)
def test_chains_of_views_and_writes_are_as_in_pytorch(
    shape: tuple[int, ...], steps: list[Step]
) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = play(gradtape, shape, steps), play(torch, shape, steps)
    for mine, yours in zip(ours, theirs, strict=True):
        assert mine == yours or _both_refuse(mine, yours)


def _both_refuse(mine: Any, yours: Any) -> bool:
    """Tell whether both refuse a call that is wrong in two ways, each naming one."""
    told = [each for each in (mine, yours) if isinstance(each, tuple)]
    sentences = [str(each[2]) for each in told if len(each) == 3]
    return len(sentences) == 2 and any(
        words in said
        for said in sentences
        for words in ("modified inplace", "single memory location")
    )
