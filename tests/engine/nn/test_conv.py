"""Convolution beyond single calls: blocks of samples, layouts, second derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape.ops._kernels import conv as _conv_kernels
from gradtape.ops._kernels.sliding_windows import Window, columns, fold


def naive(x: Any, w: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """Convolve two images by the definition, one output at a time."""
    n, _, height, width = x.shape
    out, depth, kh, kw = w.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    oh = (height + 2 * padding - dilation * (kh - 1) - 1) // stride + 1
    ow = (width + 2 * padding - dilation * (kw - 1) - 1) // stride + 1
    found = np.zeros((n, out, oh, ow))
    for o, i, j in itertools.product(range(out), range(oh), range(ow)):
        first = (o // (out // groups)) * depth
        rows = slice(i * stride, i * stride + dilation * (kh - 1) + 1, dilation)
        cols = slice(j * stride, j * stride + dilation * (kw - 1) + 1, dilation)
        seen = x[:, first : first + depth, rows, cols]
        found[:, o, i, j] = (seen * w[o]).sum((1, 2, 3))
    return found


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("padding", [0, 1, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_agrees_with_the_definition(
    stride: int, padding: int, dilation: int, groups: int
) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 4, 7, 8))
    w = random.normal(size=(4, 4 // groups, 3, 2))
    found = gt.nn.functional.conv2d(
        gt.tensor(x), gt.tensor(w), None, stride, padding, dilation, groups
    )
    wanted = naive(x, w, stride, padding, dilation, groups)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("limit", ["BLOCK", "LARGE"])
@pytest.mark.parametrize("options", [{}, {"stride": 2}, {"dilation": (2, 1)}])
def test_blocks_of_samples_or_rows_change_nothing(
    monkeypatch: pytest.MonkeyPatch, groups: int, limit: str, options: dict[str, Any]
) -> None:
    def run() -> list[Any]:
        gt.manual_seed(0)
        layer = gt.nn.Conv2d(3, 6, 3, padding=1, groups=groups, **options)
        x = gt.randn(5, 3, 6, 6, requires_grad=True)
        found = layer(x)
        (found**2).sum().backward()
        gradients = [t.grad.numpy() for t in (x, layer.weight, layer.bias)]
        return [found.detach().numpy(), *gradients]

    whole = run()
    monkeypatch.setattr(_conv_kernels, limit, 1)
    for a, b in zip(whole, run(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_folding_is_the_adjoint_of_unfolding() -> None:
    random = np.random.default_rng(0)
    window = Window((3, 2), (2, 1), (1, 1), (1, 2))
    x = random.normal(size=(2, 3, 6, 5))
    outputs = window.outputs((6, 5))
    cols = columns(np, x, window, outputs)
    y = random.normal(size=cols.shape)
    back = fold(np, y, (6, 5), window, outputs).swapaxes(0, 1)
    np.testing.assert_allclose((cols * y).sum(), (x * back).sum())


def test_transposed_convolution_undoes_the_shape() -> None:
    for size, stride, padding in itertools.product((5, 6, 7), (1, 2, 3), (0, 1)):
        down = gt.nn.Conv2d(1, 1, 3, stride, padding)
        up = gt.nn.ConvTranspose2d(1, 1, 3, stride, padding)
        x = gt.ones(1, 1, size, size)
        assert up(down(x), output_size=x.shape).shape == x.shape


def test_gradient_of_a_gradient_penalty_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")

    def run(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.Conv2d(2, 3, 3, padding=1).double()
        x = t.randn(2, 2, 5, 5, dtype=t.float64, requires_grad=True)
        out = layer(x).tanh().sum()
        (grad,) = t.autograd.grad(out, x, create_graph=True)
        (grad**2).sum().backward()
        return [p.grad.numpy() for p in layer.parameters()]

    for a, b in zip(run(gt), run(torch), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_a_batch_of_no_samples_gives_none_back() -> None:
    layer = gt.nn.Conv2d(2, 3, 3)
    x = gt.zeros(0, 2, 5, 5, requires_grad=True)
    out = layer(x)
    assert out.shape == (0, 3, 3, 3)
    out.sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.abs().sum().item() == 0
