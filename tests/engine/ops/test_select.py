"""Large arrays are chosen from bit by bit, and give what ``where`` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradtape.ops._kernels.bitwise_select import above_zero, choose, keep
from gradtape.ops._kernels.softplus import softplus

SIZES = (5, 1 << 15, (1 << 20) + 7)  # as where does; bit by bit; in blocks
DTYPES = ("float16", "float32", "float64")


def values(size: int, dtype: Any, seed: int = 0) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal(size).astype(dtype)
    found[:4] = (np.nan, np.inf, -np.inf, -0.0)
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_choose_and_keep(size: int, dtype: str) -> None:
    first, second = values(size, dtype), values(size, dtype, seed=1)[::-1].copy()
    mask = np.arange(size) % 3 == 0
    wanted = np.where(mask, first, second)
    np.testing.assert_array_equal(choose(np, mask, first, second), wanted)
    np.testing.assert_array_equal(keep(np, mask, first), np.where(mask, first, 0))
    number = choose(np, mask, 0.25, second)
    assert number.dtype == second.dtype
    np.testing.assert_array_equal(
        number, np.where(mask, second.dtype.type(0.25), second)
    )


def test_choose_takes_rows_and_other_dtypes_as_where_does() -> None:
    mask = np.arange(1 << 16).reshape(256, 256) % 5 == 0
    row, table = values(256, "float32"), values(1 << 16, "float64").reshape(256, 256)
    for first, second in ((row, row), (row, table), (table, 1), (1, 2), (1, table)):
        found, wanted = choose(np, mask, first, second), np.where(mask, first, second)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [*DTYPES, "int32"])
def test_above_zero(size: int, dtype: str) -> None:
    array = (
        np.arange(size).astype(dtype) - 7 if dtype == "int32" else values(size, dtype)
    )
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(above_zero(np, array), np.maximum(array, 0))


def test_strided_arrays_and_empty_ones() -> None:
    array = values(1 << 16, "float32").reshape(256, 256).T
    np.testing.assert_array_equal(above_zero(np, array), np.maximum(array, 0))
    np.testing.assert_array_equal(
        keep(np, array > 0, array), np.where(array > 0, array, 0)
    )
    assert above_zero(np, array[:0]).shape == (0, 256)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softplus_is_accurate(dtype: str) -> None:
    x = np.linspace(-80, 80, 4001).astype(dtype)
    wanted = np.logaddexp(x.astype(np.longdouble), 0)
    found = softplus(np, x)
    assert found.dtype == x.dtype
    tolerance = 4 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(found, wanted.astype("float64"), rtol=tolerance)
