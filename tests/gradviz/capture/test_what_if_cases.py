"""The layouts that the view predicts for `.t()`, `[1:]` and the like are PyTorch's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

CASES: list[dict[str, Any]] = json.loads(
    Path("extension/src/state/what-if.cases.json").read_text(encoding="utf-8")
)


def outcome(case: dict[str, Any]) -> dict[str, Any] | None:
    base = torch.zeros(40)
    x = torch.as_strided(base, case["shape"], case["strides"], case["offset"])
    try:
        y = eval("x" + case["step"], {"x": x})
    except (RuntimeError, IndexError):
        return None
    if case["step"] == ".clone()":  # the view says what a fresh, dense copy looks like
        y = x.clone(memory_format=torch.contiguous_format)
    return {
        "shape": list(y.shape),
        "strides": list(y.stride()),
        "offset": y.storage_offset(),
        "copies": y.untyped_storage().data_ptr() != base.untyped_storage().data_ptr(),
    }


def test_every_case_is_what_pytorch_gives():
    wrong = [case for case in CASES if outcome(case) != case["gives"]]
    assert wrong == []
    assert len(CASES) > 200
