"""What the samples of counting functions cannot say: weights, keywords, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtape

from ..oracle import assert_same


def test_histogram_weights_are_added_up():
    def program(torch: Any) -> Any:
        x, w = torch.tensor([0.1, 0.4, 0.6, 0.9]), torch.tensor([1.0, 2.0, 3.0, 4.0])
        return [torch.histogram(x, 2, range=(0.0, 1.0), weight=w)[0]]

    assert_same(program)


def test_histogram_results_have_names():
    found = gradtape.histogram(gradtape.tensor([0.0, 1.0]), 2)
    assert found.hist.tolist() == [1.0, 1.0]
    assert found.bin_edges.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_unique_records_a_node_that_refuses(name: str):
    def program(torch: Any) -> Any:
        x = torch.tensor([2.0, 1.0, 2.0], requires_grad=True)
        getattr(torch, name)(x).sum().backward()

    assert_same(program)


def test_copies_do_not_share_memory():
    x = gradtape.zeros(2, 3)
    for copy in (
        gradtape.view_copy(x, (3, 2)),
        gradtape.t_copy(x),
        gradtape.unbind_copy(x)[0],
        gradtape.narrow_copy(x, 0, 0, 1),
    ):
        copy.fill_(1.0)
    assert not x.any()


def test_a_copy_is_differentiated_like_the_view():
    def program(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        parts = torch.split_copy(x, 2, 1)
        (parts[0].sum() * 2 + (parts[1] ** 2).sum()).backward()
        return x.grad, [type(p).__name__ for p in parts]

    assert_same(program)


def test_conj_physical_of_real_tensors_is_the_tensor():
    x = gradtape.ones(2)
    assert gradtape.conj_physical(x) is x
    assert x.conj_physical_() is x


# ---- slices with NaN, which equal neither others nor themselves --------------------


def _drawn(size: int, share: float) -> Any:
    random = np.random.default_rng(size)
    values = random.integers(0, 5, (size, 3)).astype(np.float64)
    values[random.random(values.shape) < share] = np.nan
    return values


def _against_quicksort(size: int) -> Any:
    """Return rows whose medians of three are all but the least: a heap must do."""
    half, first = size // 2, np.zeros(size)
    for i in range(1, half + 1):
        if i % 2:
            first[i - 1 : i + 1] = i, half + i
        first[half + i - 1] = 2 * i
    return np.stack([first, np.where(np.arange(size) % 7, 1.0, np.nan)], 1)


SLICES = {
    "one": np.array([[np.nan]]),
    "few": _drawn(12, 0.2),
    "seventeen": _drawn(17, 0.3),
    "many": _drawn(200, 0.1),
    "mostly NaN": _drawn(90, 0.8),
    "deep": _against_quicksort(200),
}


@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
@pytest.mark.parametrize("slices", SLICES)
def test_unique_slices_with_nan_are_pytorchs(
    slices: str, name: str, dim: int, kind: str
):
    def program(torch: Any) -> Any:
        x = torch.from_numpy(SLICES[slices].copy()).to(getattr(torch, kind))
        found = getattr(torch, name)(
            x, return_inverse=True, return_counts=True, dim=dim
        )
        return [each.float() for each in found]

    assert_same(program)


def test_a_heap_sorts_what_quicksort_cannot(monkeypatch: pytest.MonkeyPatch):
    from gradtape.ops._kernels import introsort as _introsort

    calls: list[int] = []
    right = _introsort._heapsorted

    def heapsorted(items: list[int], less: Any) -> list[int]:
        calls.append(len(items))
        return right(items, less)

    monkeypatch.setattr(_introsort, "_heapsorted", heapsorted)
    gradtape.unique(gradtape.from_numpy(SLICES["deep"].copy()), dim=0)
    assert calls
