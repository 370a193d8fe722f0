"""Masked reductions and signal windows, against PyTorch's."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import gradtape

from .._compare import values_differ
from .._engines import OURS, Engine, needs_torch, theirs

pytestmark = needs_torch
REDUCTIONS = ("amax", "amin", "logsumexp", "mean", "norm", "prod", "std", "sum", "var")
ALONG = (
    *("cumprod", "cumsum", "log_softmax", "median", "softmax", "softmin"),
    *("argmax", "argmin"),
)
WINDOWS = (
    *("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine"),
    *("general_hamming", "hamming", "hann", "kaiser", "nuttall"),
)


def outcome(engine: Engine, name: str, values: Any, mask: Any, **options: Any) -> Any:
    """Return the values and the gradient of a masked call, or its error."""
    x = engine.tensor(values)
    if values.dtype.kind in "fc":
        x.requires_grad_()
    try:
        found = engine.function(f"masked.{name}")(
            x, **options, mask=None if mask is None else engine.tensor(mask)
        )
    except Exception as error:
        return error
    if found.requires_grad:
        (found * engine.tensor(np.asarray(0.5))).sum().backward()
        return engine.array(found.detach()), engine.array(x.grad)
    return (engine.array(found),)


def check_same(name: str, values: Any, mask: Any, **options: Any) -> None:
    mine, yours = (outcome(e, name, values, mask, **options) for e in (OURS, theirs()))
    if isinstance(yours, Exception):
        assert type(mine) is type(yours)
        assert str(mine) == str(yours)
        return
    assert not isinstance(mine, Exception), mine
    for m, y in zip(mine, yours, strict=True):
        assert values_differ(m, y) == ""


MASKS: dict[str, Any] = {
    "none": None,
    "rows": np.array([[True], [False], [True]]),
    "cells": np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=bool),
    "numbers": np.array([1, 0, 0, 2]),
    "too many dims": np.ones((2, 3, 4), dtype=bool),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", ["float64", "int32"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_leave_out_what_is_masked(name: str, kind: str, mask: str):
    values = np.arange(12).reshape(3, 4).astype(kind) % 5 - 2
    for options in ({}, {"dim": 1}, {"dim": (0, -1), "keepdim": True}, {"dim": (1, 1)}):
        check_same(name, values, MASKS[mask], **options)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", ["float64", "int32"])
@pytest.mark.parametrize("name", ALONG)
def test_what_runs_along_a_dim_leaves_out_what_is_masked(
    name: str, kind: str, mask: str
):
    values = np.arange(12).reshape(3, 4).astype(kind) * 7 % 11 - 4
    for dim in (0, 1, 5):
        check_same(name, values, MASKS[mask], dim=dim)


@pytest.mark.parametrize("mask", MASKS)
def test_normalize_divides_by_the_norm_of_what_is_left(mask: str):
    values = np.arange(12.0).reshape(3, 4) - 3
    for degree in (1.0, 2.0, np.inf, -np.inf):
        check_same("normalize", values, MASKS[mask], ord=degree, dim=1)


def test_logaddexp_takes_a_mask_for_each_operand():
    values, mask = np.array([-3.0, 1.0, 2.0]), np.array([True, False, True])
    found = [
        e.module.masked.logaddexp(
            e.tensor(values),
            e.tensor(values * 2),
            input_mask=e.tensor(mask),
            other_mask=e.tensor(~mask),
        )
        for e in (OURS, theirs())
    ]
    assert values_differ(found[0]._data, theirs().array(found[1])) == ""


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_those_of_pytorch(name: str):
    needed = {"a": [0.4, 0.3, 0.2]} if name == "general_cosine" else {}
    for length in (0, 1, 2, 7):
        for sym in (True, False):
            for kind in ("float32", "float64"):
                mine, yours = (
                    e.function(f"signal.windows.{name}")(
                        length, sym=sym, dtype=getattr(e.module, kind), **needed
                    )
                    for e in (OURS, theirs())
                )
                assert values_differ(mine._data, theirs().array(yours)) == ""


BAD: list[dict[str, Any]] = [
    {"M": -1},
    {"M": 3, "dtype": "float16"},
    {"M": 3, "layout": "sparse_coo"},
    {"M": 3, "std": 0.0},
    {"M": 3, "beta": -1.0},
    {"M": 3, "tau": 0.0},
    {"M": 3, "center": 1.0},
    {"M": 3, "a": []},
    {"M": 3, "a": 2.0},
]


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_refuse_what_pytorch_refuses(name: str):
    needed = {"a": [0.5]} if name == "general_cosine" else {}
    known = inspect.signature(getattr(gradtape.signal.windows, name)).parameters
    for bad in BAD:
        if not bad.keys() <= known.keys():
            continue
        errors: list[Exception] = []
        for engine in (OURS, theirs()):
            named = {
                k: getattr(engine.module, v) if isinstance(v, str) else v
                for k, v in {**needed, **bad}.items()
            }
            with pytest.raises((TypeError, ValueError)) as caught:
                engine.function(f"signal.windows.{name}")(named.pop("M"), **named)
            errors.append(caught.value)
        assert type(errors[0]) is type(errors[1])
        assert str(errors[0]) == str(errors[1])
