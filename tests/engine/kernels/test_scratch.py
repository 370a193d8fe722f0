"""What kernels borrow never shows in a result, nor in another thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gradtape as torch
from gradtape.ops._kernels import scratch_memory as _scratch
from gradtape.ops._kernels.scratch_memory import borrowed

F = torch.nn.functional


def shares(array: Any) -> bool:
    """Whether an array lies in memory that a kernel may borrow again."""
    blocks = _scratch._blocks.known.values()
    return any(np.shares_memory(array, block) for block in blocks)


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_results_lie_elsewhere(dims: int, samples: int, kernel: int) -> None:
    x = torch.randn(samples, 2, *(5,) * dims, requires_grad=True)
    weight = torch.randn(3, 2, *(kernel,) * dims, requires_grad=True)
    convolve = getattr(F, f"conv{dims}d")
    y = convolve(x, weight)
    kept = y.detach().clone()
    y.sum().backward()
    back = getattr(F, f"conv_transpose{dims}d")(y.detach(), weight)
    for tensor in (y, back, x.grad, weight.grad):
        assert not shares(tensor._data)
    convolve(torch.randn_like(x), weight)
    assert torch.equal(y, kept)


@pytest.mark.parametrize("kernel", [1, 2, 4])
def test_unfold_gives_memory_of_its_own(kernel: int) -> None:
    x = torch.randn(1, 1, 4, 4)
    found = F.unfold(x, kernel)
    assert not shares(found._data)
    assert not shares(F.fold(found, (4, 4), kernel)._data)


def test_a_block_is_used_again_and_grows() -> None:
    first = borrowed(np, "test", (4, 5), "float32")
    second = borrowed(np, "test", (10,), "float64")
    assert np.shares_memory(first, second)
    assert borrowed(np, "test", (100,), "int64").shape == (100,)
    assert second.dtype == "float64"


def test_large_blocks_are_not_kept() -> None:
    size = _scratch.KEPT + 1
    assert borrowed(np, "large", (size,), "uint8").size == size
    assert "large" not in _scratch._blocks.known


def test_threads_have_their_own() -> None:
    mine = borrowed(np, "test", (8,), "float32")
    theirs: list[Any] = []
    worker = threading.Thread(
        target=lambda: theirs.append(borrowed(np, "test", (8,), "float32"))
    )
    worker.start()
    worker.join()
    assert not np.shares_memory(mine, theirs[0])
