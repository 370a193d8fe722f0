"""A warning that comes once names the line of the program that caused it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradtape as gt

CALLS: dict[str, Callable[[], Any]] = {
    "a number": lambda: float(gt.ones(1, requires_grad=True)),
    "a method": lambda: gt.zeros(4).index_reduce_(0, gt.arange(1), gt.ones(1), "mean"),
    "a function": lambda: gt.index_reduce(
        gt.ones(1), 0, gt.arange(1), gt.ones(1), "prod"
    ),
    "an attribute": lambda: gt.ones(2, 2, 2).T,
    "a cast": lambda: gt.ones(2, dtype=gt.complex64).float(),
    "an assignment": lambda: gt.zeros(2).copy_(gt.ones(2, dtype=gt.complex64)),
}


@pytest.fixture(autouse=True)
def always() -> Iterator[None]:
    gt.set_warn_always(True)
    yield
    gt.set_warn_always(False)


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_users_line(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    line = inspect.getsourcelines(CALLS[name])[1]
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]
