"""The kernels of a whole LSTM layer: products in pieces, and gradients that vanish."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape.ops._kernels import lstm as kernels
from gradtape.ops._kernels.denormals import minds

torch = pytest.importorskip("torch")

QUANTUM = 2.0**-149
"""What denormal numbers of float32 are multiples of."""


class Watched:
    """NumPy, which remembers what matrices it has multiplied."""

    def __init__(self) -> None:
        self.products: list[tuple[str, tuple[int, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def matmul(self, left: Any, right: Any, out: Any = None) -> Any:
        self.products.append((right.dtype.name, right.shape))
        return np.matmul(left, right, out)


def trained(t: Any, sizes: tuple[int, int, int, int], last_only: bool) -> list[Any]:
    """Return output, final states, and all gradients of a layer in one direction."""
    steps, batch, inputs, units = sizes
    t.manual_seed(1)
    layer = t.nn.LSTM(inputs, units)
    x = t.randn(steps, batch, inputs, requires_grad=True)
    output, (hidden, cell) = layer(x)
    loss = output[-1].sum() if last_only else (output * output).sum() + cell.sum()
    loss.backward()
    found = [output, hidden, cell, x.grad, *(p.grad for p in layer.parameters())]
    return [part.detach().numpy() for part in found]


@pytest.mark.parametrize(
    "sizes",
    [(3, 2, 5, 64), (2, 5, 3, 96), (3, 4, 3, 33), (2, 500, 4, 64), (1, 1, 1, 1)],
    ids=str,
)
def test_sizes_with_and_without_pieces(sizes: tuple[int, int, int, int]) -> None:
    results = [trained(t, sizes, False) for t in (gt, torch)]
    for ours, theirs in zip(*results, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("batch", "units", "shape"),
    [(8, 64, (4, 2, 69, 32)), (8, 33, (4, 1, 38, 33)), (500, 64, (4, 1, 69, 64))],
)
def test_only_small_products_are_cut(
    batch: int, units: int, shape: tuple[int, ...]
) -> None:
    xp = Watched()
    run(xp, (2, batch, 4, units))
    assert xp.products == [("float32", shape)] * 2


def run(xp: Any, sizes: tuple[int, int, int, int]) -> tuple[Any, tuple[Any, ...]]:
    """Run forward; return its tape and the weights."""
    steps, batch, inputs, units = sizes
    draw = np.random.default_rng(0)
    shapes = (4 * units, inputs), (4 * units, units), (4 * units,), (4 * units,)
    weights = tuple(draw.uniform(-0.3, 0.3, s).astype("float32") for s in shapes)
    zeros = np.zeros((batch, units), "float32")
    block = np.empty(kernels.block_size(sizes), "float32")
    x = draw.standard_normal((steps, batch, inputs)).astype("float32")
    kernels.forward(xp, x, weights, zeros, zeros, block)
    return kernels.tape_of(block, sizes), weights


@pytest.mark.parametrize(("scale", "kind"), [(1, "float32"), (1e-39, "float64")])
def test_vanished_gradients_are_multiplied_in_double(
    scale: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minds, "measured", True)
    tape, weights = run(np, (3, 4, 2, 32))
    xp = Watched()
    given = np.full((4, 32), scale, "float32")
    kernels.backward(xp, kernels.Incoming(None, given, None), weights, tape)
    through_state = [name for name, shape in xp.products if shape == (4, 32, 32)]
    assert through_state == [kind] * 3


def test_gradients_vanish_as_in_pytorch() -> None:
    sizes = 200, 8, 3, 32
    ours, theirs = (trained(t, sizes, True) for t in (gt, torch))
    into_ours, into_theirs = ours[3], theirs[3]
    magnitudes = np.abs(into_theirs).max((1, 2), keepdims=True)
    assert magnitudes[0] < 1e-38 < magnitudes[60]
    slack = 1e-3 * magnitudes + 1e3 * QUANTUM
    assert np.all(np.abs(into_ours - into_theirs) <= slack)
    assert np.any(into_ours[magnitudes.ravel() > 1e-42][0])
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-5)
