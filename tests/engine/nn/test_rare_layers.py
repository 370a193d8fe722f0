"""Fractional pooling and the adaptive softmax do as PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from .._compare import graph_text
from ..oracle import assert_same

# ---- fractional max pooling ----


@pytest.mark.parametrize(
    ("dims", "shape", "kernel", "how"),
    [
        (2, (2, 3, 6, 7), 2, {"output_size": (3, 4)}),
        (2, (2, 3, 6, 7), (2, 3), {"output_ratio": (0.5, 0.6)}),
        (2, (3, 6, 7), 2, {"output_size": 1}),
        (3, (2, 2, 5, 6, 7), 2, {"output_size": (2, 3, 4)}),
        (3, (2, 5, 6, 7), (1, 2, 3), {"output_ratio": (0.5, 0.5, 0.6)}),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fractional_pools(
    dims: int, shape: Any, kernel: Any, how: Any, dtype: str
) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(4)
        x = t.randn(*shape, dtype=getattr(t, dtype), requires_grad=True)
        call = getattr(t.nn.functional, f"fractional_max_pool{dims}d")
        found, where = call(x, kernel, **how, return_indices=True)
        found.pow(2).sum().backward()
        return [found, where, graph_text(found.grad_fn), x.grad]

    assert_same(program)


def test_fractional_layers() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(4)
        x = t.randn(1, 2, 6, 6)
        samples = t.rand(1, 2, 2)
        flat = t.nn.FractionalMaxPool2d(2, 3)
        fixed = t.nn.FractionalMaxPool2d(
            2, output_ratio=0.5, return_indices=True, _random_samples=samples
        )
        deep = t.nn.FractionalMaxPool3d(2, (2, 3, 3))
        return [flat(x), fixed(x), deep(t.randn(1, 1, 4, 6, 6)), str(flat), str(deep)]

    assert_same(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, f, x: f.fractional_max_pool2d(x, 2),
        lambda t, f, x: f.fractional_max_pool2d(x, 2, (6, 7)),
        lambda t, f, x: f.fractional_max_pool2d(x, 2, (3, 8)),
        lambda t, f, x: f.fractional_max_pool2d(x, (2, 2, 2), (3, 3)),
        lambda t, f, x: f.fractional_max_pool2d(
            x, 2, (3, 3), _random_samples=t.rand(2, 3, 3)
        ),
        lambda t, f, x: f.fractional_max_pool3d(x[None], 2),
        lambda t, f, x: f.fractional_max_pool3d(x[None], 2, (2, 3)),
        lambda t, f, x: f.fractional_max_pool3d(x[None], 2, (3, 6, 3)),
        lambda t, f, x: t.nn.FractionalMaxPool2d(2),
        lambda t, f, x: t.nn.FractionalMaxPool2d(2, 3, 0.5),
        lambda t, f, x: t.nn.FractionalMaxPool2d(2, output_ratio=1.5),
        lambda t, f, x: t.nn.FractionalMaxPool3d(0, 2),
    ],
)
def test_refused_pools(call: Any) -> None:
    assert_same(lambda t: call(t, t.nn.functional, t.ones(2, 3, 6, 7)))


# ---- the adaptive softmax ----


@pytest.mark.parametrize("targets", [[0, 3, 9, 1], [0, 1, 1, 0], [7, 2, 4, 9]])
def test_adaptive_softmax(targets: list[int]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], 2.0, head_bias=True)
        x = t.randn(4, 8, requires_grad=True)
        found = layer(x, t.tensor(targets))
        found.loss.backward()
        single = layer(x[0], t.tensor(3))
        return [
            list(found),
            graph_text(found.output.grad_fn),
            x.grad,
            single.output.item(),
            layer.log_prob(x).detach(),
            layer.predict(x),
            str(layer),
            {name: p.grad is None for name, p in layer.named_parameters()},
        ]

    assert_same(program, rtol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, layer: layer(t.ones(3, 8), t.tensor([0, 1])),
        lambda t, layer: layer(t.ones(8), t.tensor([0] * 8)),
        lambda t, layer: layer(t.ones(3, 8), t.tensor(0)),
        lambda t, layer: layer(t.ones(3, 8), t.tensor([[0]])),
        lambda t, layer: layer(t.ones(2, 8), t.tensor([0, 10])),
        lambda t, layer: type(layer)(8, 10, []),
        lambda t, layer: type(layer)(8, 10, [5, 2]),
        lambda t, layer: type(layer)(8, 10, [2, 10]),
        lambda t, layer: type(layer)(8, 10, [0, 2]),
        lambda t, layer: type(layer)(8, 10, [2.5]),
    ],
)
def test_refused_softmax(call: Any) -> None:
    def program(t: Any) -> Any:
        warnings.simplefilter("ignore")
        return call(t, t.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], 2.0))

    assert_same(program)
