"""Functions of nn.functional where more than one call's value is at stake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape as gt

from ..oracle import assert_same

Program = Callable[[Any], Any]


def same(program: Program) -> None:
    assert_same(program)


# ---- dropout: PyTorch's masks ----

DROPOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "dropout": lambda F, x: F.dropout(x, 0.3),
    "dropout of all": lambda F, x: F.dropout(x, 1.0),
    "dropout of none": lambda F, x: F.dropout(x, 0.0),
    "dropout in evaluation": lambda F, x: F.dropout(x, 0.3, training=False),
    "alpha_dropout": lambda F, x: F.alpha_dropout(x, 0.3, training=True),
    "alpha_dropout of all": lambda F, x: F.alpha_dropout(x, 1.0, training=True),
    "feature_alpha_dropout": lambda F, x: F.feature_alpha_dropout(
        x, 0.3, training=True
    ),
    "dropout1d": lambda F, x: F.dropout1d(x[0], 0.3),
    "dropout1d without batch": lambda F, x: F.dropout1d(x[0, 0], 0.3),
    "dropout2d": lambda F, x: F.dropout2d(x, 0.3),
    "dropout2d of 3 dimensions": lambda F, x: F.dropout2d(x[0], 0.3),
    "dropout3d": lambda F, x: F.dropout3d(x.unsqueeze(-1), 0.3),
    "rrelu": lambda F, x: F.rrelu(x, training=True),
    "rrelu in evaluation": lambda F, x: F.rrelu(x),
    "gumbel_softmax": lambda F, x: F.gumbel_softmax(x, dim=1),
    "gumbel_softmax, hard": lambda F, x: F.gumbel_softmax(x, hard=True, dim=1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", DROPOUTS)
def test_random_masks_are_pytorchs(case: str, dtype: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        x = t.randn(2, 3, 4, 5, dtype=getattr(t, dtype))
        weight = x.clone().requires_grad_()
        out = DROPOUTS[case](t.nn.functional, weight)
        if out.requires_grad and out is not weight:
            out.sum().backward()
        return [out, weight.grad, t.rand(1)]

    same(program)


def test_masks_follow_the_memory_of_a_transposed_tensor() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        return t.nn.functional.dropout(t.ones(4, 5).t())

    same(program)


# ---- in place ----

INPLACE = [
    "relu",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "hardtanh",
    "relu6",
    "hardsigmoid",
    "hardswish",
    "silu",
    "mish",
]


@pytest.mark.parametrize("name", INPLACE)
def test_activations_work_in_place(name: str) -> None:
    def program(t: Any) -> Any:
        x = t.linspace(-4, 4, 9, requires_grad=True)
        y = x * 1
        z = getattr(t.nn.functional, name)(y, inplace=True)
        z.sum().backward()
        return [z, z is y, y._version, x.grad]

    same(program)


def test_threshold_and_dropout_work_in_place() -> None:
    def program(t: Any) -> Any:
        F = t.nn.functional
        t.manual_seed(0)
        x = t.linspace(-4, 4, 9, requires_grad=True)
        y = F.dropout(F.threshold(x * 1, 0.5, 2.0, inplace=True), inplace=True)
        y.sum().backward()
        return [y, x.grad]

    same(program)


def test_a_leaf_that_needs_gradients_is_not_written() -> None:
    same(lambda t: t.nn.functional.relu(t.ones(2, requires_grad=True), inplace=True))


# ---- warnings and legacy arguments ----


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.nn.functional.mse_loss(t.ones(3, 1), t.zeros(3)),
        lambda t: t.nn.functional.l1_loss(t.ones(3, 1), t.zeros(3)),
        lambda t: t.nn.functional.smooth_l1_loss(t.ones(3, 1), t.zeros(3)),
        lambda t: t.nn.functional.huber_loss(t.ones(3, 1), t.zeros(3)),
        lambda t: t.nn.functional.kl_div(t.ones(2, 2), t.ones(2, 2)),
        lambda t: t.nn.functional.mse_loss(t.ones(2), t.zeros(2), size_average=False),
        lambda t: t.nn.functional.mse_loss(t.ones(2), t.zeros(2), reduce=False),
        lambda t: t.nn.functional.softmax(t.ones(2, 3)),
        lambda t: t.nn.functional.log_softmax(t.ones(2, 3, 4)),
        lambda t: t.nn.functional.dropout(t.ones(2), 1.5),
        lambda t: t.nn.functional.hardtanh(t.ones(2), 2, 1),
        lambda t: t.nn.functional.cross_entropy(
            t.ones(2, 3), t.zeros(2, dtype=t.int64), label_smoothing=2.0
        ),
        lambda t: t.nn.functional.one_hot(t.tensor([0, 3, 1])),
        lambda t: t.nn.functional.one_hot(t.tensor([0, 3, 1]), 3),
        lambda t: t.nn.functional.one_hot(t.tensor([-1])),
        lambda t: t.nn.functional.one_hot(t.tensor([1.0])),
        lambda t: t.nn.functional.embedding(t.tensor([1]), t.ones(3, 2), padding_idx=7),
        lambda t: t.nn.functional.gaussian_nll_loss(t.ones(2), t.ones(2), -t.ones(2)),
    ],
)
def test_warns_and_refuses_as_pytorch(program: Program) -> None:
    same(program)


def test_the_warning_names_the_users_line() -> None:
    with pytest.warns(UserWarning, match="target size") as caught:
        gt.nn.functional.mse_loss(gt.ones(3, 1), gt.zeros(3))
    assert caught[0].filename == __file__


# ---- running statistics ----


@pytest.mark.parametrize("momentum", [0.1, 0.3, None])
def test_running_statistics_move_as_in_pytorch(momentum: float | None) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.BatchNorm2d(3, momentum=momentum)
        for _ in range(3):
            layer(t.randn(4, 3, 2, 2) * 3 + 1)
        out = layer.eval()(t.ones(2, 3, 2, 2))
        return [out, dict(layer.state_dict())]

    assert_same(program, rtol=2e-5)


def test_two_training_passes_before_backward_are_no_conflict() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.BatchNorm1d(3)
        loss = layer(t.randn(4, 3)).pow(3).sum() + layer(t.randn(4, 3)).sum()
        loss.backward()
        return [p.grad is not None for p in layer.parameters()]

    same(program)


def test_moving_statistics_makes_no_new_version() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.BatchNorm1d(3)
        evaluated = layer.eval()(t.randn(4, 3)).sum()
        layer.train()(t.randn(4, 3))
        evaluated.backward()
        return layer.running_mean, layer.running_mean._version, layer.weight.grad

    same(program)


def test_embedding_scales_long_rows_down() -> None:
    def program(t: Any) -> Any:
        weight = t.arange(8.0).reshape(4, 2).requires_grad_()
        out = t.nn.functional.embedding(t.tensor([1, 3]), weight, max_norm=2.0)
        return [out, weight]

    same(program)


def test_embedding_bags() -> None:
    def program(t: Any) -> Any:
        F = t.nn.functional
        weight = t.arange(12.0).reshape(4, 3)
        bags, flat = t.tensor([[0, 2], [3, 1]]), t.tensor([0, 2, 3, 1, 1])
        offsets = t.tensor([0, 2, 2])
        found = [F.embedding_bag(bags, weight, mode=m) for m in ("sum", "mean", "max")]
        found.append(F.embedding_bag(flat, weight, offsets, mode="sum"))
        found.append(F.embedding_bag(flat, weight, offsets, mode="mean", padding_idx=1))
        return [bag.tolist() for bag in found]

    same(program)


# ---- max pooling: NaN, ties, indices ----


def test_max_pooling_takes_nan_and_the_first_of_equals() -> None:
    def program(t: Any) -> Any:
        x = t.tensor([[[[1.0, 1.0], [1.0, 0.5]]], [[[float("nan"), 3.0], [2.0, 1.0]]]])
        return t.nn.functional.max_pool2d(x, 2, return_indices=True)

    same(program)


def test_unpooling_undoes_pooling() -> None:
    def program(t: Any) -> Any:
        F = t.nn.functional
        t.manual_seed(0)
        x = t.randn(1, 2, 4, 4)
        pooled, at = F.max_pool2d(x, 2, return_indices=True)
        line, line_at = F.max_pool1d(x[0], 2, return_indices=True)
        return [F.max_unpool2d(pooled, at, 2), F.max_unpool1d(line, line_at, 2)]

    same(program)


# ---- half precision ----


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_layers_are_close_to_pytorchs(dtype: str) -> None:
    def run(t: Any) -> Any:
        t.manual_seed(0)
        net = t.nn.Sequential(
            t.nn.Conv2d(1, 2, 3), t.nn.ReLU(), t.nn.Flatten(), t.nn.Linear(8, 3)
        ).to(getattr(t, dtype))
        x = t.ones(1, 1, 4, 4, dtype=getattr(t, dtype))
        out = net(x)
        out.sum().backward()
        return out.detach().float().tolist(), str(out.dtype)

    torch = pytest.importorskip("torch")
    (ours, kind), (theirs, other) = run(gt), run(torch)
    assert kind == other
    np.testing.assert_allclose(ours, theirs, rtol=2e-2, atol=1e-2)
