"""erf and gelu in float32 are about as accurate as float32 allows, at any size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf, ndtr

import gradtape as torch
from gradtape.ops._kernels import erf as normal
from gradtape.ops._kernels.cache_blocks import BLOCK

HALF_UNIT = 2.0**-25  # half a unit in the last place just below 1


def grid(count: int) -> np.ndarray:
    return np.linspace(-9, 9, count, dtype=np.float32)


def slope(x: np.ndarray) -> np.ndarray:
    """The derivative of ``x * cdf(x)``, in double precision."""
    wide = x.astype(np.float64)
    return ndtr(wide) + wide * np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("count", [1, 1001, 3 * BLOCK + 5])
def test_gelu_is_accurate(count: int) -> None:
    x = grid(count)
    exact = x * ndtr(x.astype(np.float64))
    error = np.abs(normal.gelu(np, x) - exact)
    assert (error <= 6 * HALF_UNIT * np.maximum(1, np.abs(x))).all()


@pytest.mark.parametrize("count", [1, 1001, 3 * BLOCK + 5])
def test_the_gradient_is_accurate(count: int) -> None:
    x = grid(count)
    found = normal.gelu_backward(np, np.full_like(x, 2), x)
    assert np.abs(found - 2 * slope(x)).max() <= 16 * HALF_UNIT


@pytest.mark.parametrize("count", [1, 1001, 3 * BLOCK + 5])
def test_erf_is_accurate_even_close_to_zero(count: int) -> None:
    small = np.geomspace(1e-30, 1, count, dtype=np.float32)
    for x in (grid(count), small, -small):
        np.testing.assert_allclose(normal.erf(np, x), erf(x.astype("f8")), rtol=3e-7)


def test_the_polynomial_stays_above_its_first_value() -> None:
    squares = np.linspace(0, 3000, 100_001)
    values = np.polyval(normal.ERF_TERMS, squares)
    assert values.min() == values[0]
    assert (np.diff(values[squares > 30]) > 0).all()


def test_special_values() -> None:
    x = np.array([np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 1e-40], np.float32)
    with np.errstate(all="ignore"):
        found = normal.gelu(np, x)
    wanted = np.array([np.inf, np.nan, 0.0, -0.0, 1e30, -0.0, 5e-41], np.float32)
    np.testing.assert_array_equal(found, wanted)
    assert np.signbit(found[3])


def test_strided_input_gives_the_same() -> None:
    x = torch.randn(8, 6, requires_grad=True)
    y = torch.nn.functional.gelu(x.t())
    y.sum().backward()
    z = x.detach().clone().requires_grad_()
    w = torch.nn.functional.gelu(z)
    w.sum().backward()
    assert torch.allclose(y.t(), w, rtol=1e-5, atol=1e-6)
    assert torch.allclose(x.grad, z.grad, rtol=1e-5, atol=1e-6)
