"""Between which numbers a value must lie, whatever the parameters are."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import pytest

import gradtape as torch
from gradviz._capture.open_log import open_log
from gradviz.dependence.ranges import Range, Ranges
from gradviz.program import History


def range_of(compute: Callable[[Any], Any]) -> Range:
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    with open_log("gradtape") as log:
        compute(w)
    history = History(log.program)
    made = history.calls[-1]
    return history.once(Ranges).of(made.outputs[0], made.index + 1)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda w: w * 3, Range(-inf, inf)),
        (lambda w: w * w, Range(0, inf)),
        (lambda w: -((w - 1) ** 2).mean(), Range(-inf, 0)),
        (lambda w: 2 * torch.tanh(w) + 1, Range(-1, 3)),
        (lambda w: torch.sigmoid(w).sum(), Range(0, 2)),
        (lambda w: torch.relu(w).clamp(0.5, 4), Range(0.5, 4)),
        (lambda w: (w - torch.logsumexp(w, 0)).mean(), Range(-inf, 0)),
        (lambda w: torch.where(w > 0, torch.tanh(w), 5.0), Range(-1, 5)),
        (lambda w: torch.sigmoid(w) / -2, Range(-0.5, 0)),
        (lambda w: torch.cumsum(torch.sigmoid(w), 0), Range(-inf, inf)),
    ],
)
def test_ranges_follow_from_what_was_computed(
    compute: Callable[[Any], Any], expected: Range
):
    assert range_of(compute) == pytest.approx(expected)


def test_what_is_written_into_a_result_counts():
    def overwritten(w: Any) -> Any:
        kept = torch.sigmoid(w)
        kept[0] = 7 * w[1]
        return kept * 2

    assert range_of(overwritten) == Range(-inf, inf)


def test_a_chain_of_thousands_of_operations_is_no_recursion():
    def long(w: Any) -> Any:
        found = torch.sigmoid(w)
        for _ in range(3_000):
            found = found * 1
        return found

    assert range_of(long) == Range(0, 1)
