"""``torch.layer_norm`` and its like take PyTorch's arguments and give its graphs."""

from __future__ import annotations

from typing import Any

import pytest

from .._compare import graph_text
from ..oracle import assert_same


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, y: t.selu(x),
        lambda t, x, y: t.selu_(x * 1),
        lambda t, x, y: t.celu_(x * 1, 0.5),
        lambda t, x, y: t.prelu(x, t.tensor([0.1, 0.2, 0.3])),
        lambda t, x, y: x.prelu(t.tensor(0.5)),
        lambda t, x, y: t.rrelu(x),
        lambda t, x, y: t.rrelu(x, 0.1, 0.2, True),
        lambda t, x, y: t.dropout(x, 0.5, True),
        lambda t, x, y: t.dropout_(x * 1, 0.5, True),
        lambda t, x, y: t.alpha_dropout(x, 0.5, True),
        lambda t, x, y: t.alpha_dropout(x, 0.5, False),
        lambda t, x, y: t.feature_dropout(x, 0.5, True),
        lambda t, x, y: t.feature_alpha_dropout(x, 0.5, True),
        lambda t, x, y: t.feature_dropout_(x * 1, 0.5, True),
        lambda t, x, y: t.layer_norm(x, [8], t.ones(8), t.zeros(8)),
        lambda t, x, y: t.group_norm(x, 3),
        lambda t, x, y: t.rms_norm(x, [8]),
        lambda t, x, y: t.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, True),
        lambda t, x, y: t.instance_norm(
            x, None, None, None, None, True, 0.1, 1e-5, True
        ),
        lambda t, x, y: t.max_pool1d(x, 2),
        lambda t, x, y: t.max_pool2d(x, (1, 2), padding=(0, 1)),
        lambda t, x, y: t.max_pool3d(x[None], (1, 1, 2)),
        lambda t, x, y: t.max_pool1d_with_indices(x, 2, 3)[0],
        lambda t, x, y: t.avg_pool1d(x, 3, 2, 1, False, False),
        lambda t, x, y: t.adaptive_avg_pool1d(x, 3),
        lambda t, x, y: t.adaptive_max_pool1d(x, 3)[0],
        lambda t, x, y: t.cosine_similarity(x, y),
        lambda t, x, y: t.pairwise_distance(x, y),
        lambda t, x, y: t.bilinear(x, y, t.ones(2, 8, 8)),
        lambda t, x, y: t.kl_div(x, y.abs()),
        lambda t, x, y: t.kl_div(x, y, 2, log_target=True),
        lambda t, x, y: t.binary_cross_entropy_with_logits(x, y.sigmoid()),
        lambda t, x, y: t.poisson_nll_loss(x, y.abs(), True, False, 1e-8, 0),
        lambda t, x, y: t.hinge_embedding_loss(x, y.sign(), 0.5, 2),
        lambda t, x, y: t.cosine_embedding_loss(x[0], y[0], y[0, :, 0].sign(), 0.1),
        lambda t, x, y: t.margin_ranking_loss(x, y, y.sign(), 0.1, 0),
        lambda t, x, y: t.triplet_margin_loss(x, y, y * 2, swap=True),
    ],
)
def test_function_forms(call: Any) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        x = t.randn(2, 3, 8, requires_grad=True)
        found = call(t, x, t.randn(2, 3, 8))
        weights = t.arange(1.0, found.numel() + 1).reshape(found.shape)
        (found * weights).sum().backward()
        return [found.detach().clone(), graph_text(found.grad_fn), x.grad]

    assert_same(program, rtol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, y: t.rrelu_(x * 1, training=True),
        lambda t, x, y: t.pixel_shuffle(x.reshape(1, 4, 2, 6), 2),
        lambda t, x, y: t.pixel_unshuffle(x.reshape(1, 1, 4, 12), 2),
        lambda t, x, y: t.channel_shuffle(x.reshape(1, 6, 2, 4), 3),
    ],
)
def test_forms_whose_nodes_are_composed(call: Any) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(3)
        x = t.randn(2, 3, 8, requires_grad=True)
        found = call(t, x, x)
        found.pow(2).sum().backward()
        return [found.detach().clone(), x.grad]

    assert_same(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.dropout(t.ones(2), 2.0, True),
        lambda t: t.alpha_dropout(t.ones(2), -1.0, True),
        lambda t: t.feature_dropout(t.ones(2), 0.5, True),
        lambda t: t.layer_norm(t.ones(2, 3), [2]),
        lambda t: t.group_norm(t.ones(2, 3), 2),
    ],
)
def test_refused_forms(call: Any) -> None:
    assert_same(call)


def test_other_names() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        f = t.nn.functional
        x = t.randn(2, 3, 4, 6)
        w = t.randn(3, 3, 5)
        return [
            f.max_pool1d_with_indices(x[0], 2),
            f.max_pool2d_with_indices(x, 2),
            f.max_pool3d_with_indices(x[None], 2),
            f.adaptive_max_pool1d_with_indices(x[0], 3),
            f.adaptive_max_pool2d_with_indices(x, (2, 3)),
            f.adaptive_max_pool3d_with_indices(x[None], 2),
            f.fractional_max_pool2d_with_indices(x, 2, 2),
            f.fractional_max_pool3d_with_indices(x[None], 1, 2),
            f.native_channel_shuffle(x, 3),
            f.rrelu_(x.clone()),
            f.conv_tbc(x[0].transpose(0, 2)[..., :3].contiguous(), w, t.ones(5), 1),
        ]

    assert_same(program)


def test_conv_tbc_has_gradients() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.randn(4, 2, 3, requires_grad=True)
        w = t.randn(3, 3, 5, requires_grad=True)
        b = t.randn(5, requires_grad=True)
        t.conv_tbc(x, w, b, 1).pow(2).sum().backward()
        return [each.grad.contiguous() for each in (x, w, b)]

    assert_same(program, rtol=1e-4)
