"""Every operator does on PyTorch's own samples what docs/operators.md says."""

from __future__ import annotations

import pytest

from tests.depth import SAMPLES

from .._engines import needs_torch
from . import _opinfo_table as page
from ._opinfo import variants

WRITTEN = page.read()


@needs_torch
@pytest.mark.parametrize("name", WRITTEN)
def test_the_table_of_operators_is_true(name: str):
    agrees = page.NO not in WRITTEN[name].values()  # else one sample may be all
    assert page.statuses(name, SAMPLES if agrees else None) == WRITTEN[name], (
        "run `python -m tests.engine.ops._opinfo_table`, if that is meant"
    )


@needs_torch
def test_the_table_of_operators_is_complete():
    assert set(WRITTEN) == set(variants())
    assert page.TARGET.read_text(encoding="utf-8") == page.table(WRITTEN)


@needs_torch
def test_a_difference_is_noticed(monkeypatch: pytest.MonkeyPatch):
    import gradtape

    right = gradtape.erf
    monkeypatch.setattr(gradtape, "erf", lambda x, **named: right(x, **named) * 1.001)
    assert page.statuses("erf")["forward"] == page.NO
