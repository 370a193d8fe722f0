"""Gradients of extremes are written to the winners alone, ties and NaN included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradtape.ops._support.reduction import shared_by_few

from ..oracle import assert_same

DATA = np.random.default_rng(0).standard_normal((41, 61)).astype(np.float32)

EXTREMES: dict[str, Callable[[Any], Any]] = {
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(0, keepdim=True),
    "amax of all": lambda x: x.amax(),
    "both dimensions": lambda x: x.amax((0, 1)),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "turned": lambda x: x.t().amax(0),
}


def ties(count: int) -> np.ndarray:
    data = DATA.copy()
    data[:, :count] = 9
    data[:count, :] = -9
    return data


def with_nan() -> np.ndarray:
    data = DATA.copy()
    data[3, 4] = np.nan
    return data


INPUTS = {"plain": DATA, "three": ties(3), "half": ties(30), "nan": with_nan()}


@pytest.mark.parametrize("values", list(INPUTS))
@pytest.mark.parametrize("extreme", list(EXTREMES))
def test_gradients_are_pytorchs(extreme: str, values: str) -> None:
    def program(t: Any) -> Any:
        x = t.tensor(INPUTS[values].tolist(), requires_grad=True)
        found = EXTREMES[extreme](x)
        (found * t.arange(1.0, found.numel() + 1).reshape(found.shape)).sum().backward()
        return [found.detach(), x.grad]

    assert_same(program)


def test_only_few_winners_are_looked_up() -> None:
    grad = np.ones((41, 1), np.float32)
    few = DATA.max(1, keepdims=True) == DATA
    assert shared_by_few(grad, few) is not None
    assert shared_by_few(grad, DATA > 0) is None
    assert shared_by_few(grad, few & (DATA > 2)) is None  # rows without a winner
    assert shared_by_few(grad, few.T) is None
