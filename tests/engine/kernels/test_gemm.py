"""Products take the way that BLAS is fastest at, and give what PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape.ops._kernels import gemm as _gemm
from gradtape.ops._kernels.denormals import minds
from gradtape.ops._kernels.gemm import added_to_rows, is_thin, turned

torch = pytest.importorskip("torch")


def normal(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    _gemm._gemm.cache_clear()
    yield
    monkeypatch.undo()
    _gemm._gemm.cache_clear()


@pytest.mark.parametrize(
    ("operands", "thin"),
    [
        (lambda: (normal(16, 512), normal(512, 512).T), True),
        (lambda: (normal(64, 784), normal(512, 784).T), True),
        # As it is, BLAS reads it well.
        (lambda: (normal(16, 512), normal(512, 512)), False),
        (lambda: (normal(512, 16).T, normal(512, 512).T), False),
        (lambda: (normal(1, 4096), normal(4096, 4096).T), False),  # a vector
        (lambda: (normal(65, 512), normal(512, 512).T), False),
        # Wide: much to turn back.
        (lambda: (normal(32, 100), normal(4096, 100).T), False),
        (lambda: (normal(16, 64), normal(64, 64).T), False),  # small
        (lambda: (normal(16, 512)[:, ::2], normal(512, 512).T[::2]), False),
        (lambda: (normal(16, 512).astype("d"), normal(512, 512).astype("d").T), False),
    ],
)
def test_few_rows_and_a_transposed_matrix_are_turned(
    operands: Callable[[], tuple[Any, Any]], thin: bool
) -> None:
    left, right = operands()
    assert is_thin(left, right) is thin
    found = turned(left, right)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, left @ right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [(16, 512, 512), (200, 100, 100), (4, 5, 6)])
@pytest.mark.parametrize("how", ["rows", "columns", "sliced"])
def test_linear_is_that_of_pytorch_on_one_thread(
    one_thread: None, size: tuple[int, int, int], how: str
) -> None:
    def run(t: Any) -> list[Any]:
        rows, inner, columns = size
        x = t.from_numpy(normal(rows, inner))
        if how == "columns":
            x = x.t().contiguous().t()
        elif how == "sliced":
            x = t.from_numpy(normal(rows, 2 * inner))[:, ::2]
        weight = t.from_numpy(normal(columns, inner)).requires_grad_()
        bias = t.from_numpy(normal(columns)).requires_grad_()
        found = t.nn.functional.linear(x, weight, bias)
        found.square().sum().backward()
        return [found, weight.grad, bias.grad]

    for ours, theirs in zip(run(gt), run(torch), strict=True):
        assert ours.stride() == theirs.stride()
        scale = theirs.abs().max().item()
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5 * scale
        )


def test_a_bias_is_added_by_blas_only_where_it_has_one_thread(
    one_thread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right, bias = normal(200, 100), normal(100, 100), normal(100)
    found = added_to_rows(bias, left, right)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, left @ right + bias, rtol=1e-4, atol=1e-4)
    _gemm._gemm.cache_clear()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert added_to_rows(bias, left, right) is None


def test_a_bias_is_added_apart_where_blas_would_not_do(
    one_thread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right, bias = normal(200, 100), normal(100, 100), normal(100)
    assert added_to_rows(bias, left[:4], right) is None  # small
    assert added_to_rows(bias, left[::2], right) is None  # BLAS would need a copy
    assert added_to_rows(bias, left.astype("d"), right.astype("d")) is None
    faint = left * np.float32(1e-40)
    monkeypatch.setattr(minds, "measured", False)
    assert added_to_rows(bias, faint, right) is not None
    monkeypatch.setattr(minds, "measured", True)
    assert added_to_rows(bias, faint, right) is None  # slow there


def test_nan_and_infinity_come_through(one_thread: None) -> None:
    left, right, bias = normal(200, 100), normal(100, 100), normal(100)
    bias[:2], left[5, 7] = (np.nan, np.inf), np.nan
    found = added_to_rows(bias, left, right)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(left @ right + bias))
    assert np.isposinf(found[0, 1])
