"""Dtypes that a kernel of PyTorch leaves out are refused in its words."""

from __future__ import annotations

import pytest

from .nn.lines import check_line

SETUP = """
F = t.nn.functional
i, b, c = (t.ones(2, 3, dtype=k) for k in (t.int64, t.bool, t.complex64))
u = t.ones(2, 3, dtype=t.uint8)
images = [x.reshape(1, 1, 2, 3) for x in (i, b, c)]
labels = t.tensor([0, 1])
"""
ON_EACH = """
F.softmax({}, 0)
F.log_softmax({}, -1)
F.hardtanh({})
F.relu6({})
F.threshold({}, 0, 1)
F.glu({}, 0)
F.prelu({}, {}[0, :1])
F.gelu({})
F.elu({})
F.selu({})
F.leaky_relu({})
F.mish({})
F.logsigmoid({})
F.hardswish({})
F.hardshrink({})
F.softshrink({})
F.hardsigmoid({})
F.layer_norm({}, (3,))
F.layer_norm({}, (3,), t.ones(3))
F.group_norm({}, 3)
F.batch_norm({}, None, None, training=True)
F.rms_norm({}, (3,)) if {}.dtype is not t.complex64 else 0
F.multi_margin_loss({}, labels)
F.multilabel_margin_loss({}, t.tensor([[0, -1, 0]] * 2))
F.rrelu({}, training=True)
F.nll_loss({}, labels) if {}.dtype is not t.complex64 else 0
F.smooth_l1_loss({}, {})
F.huber_loss({}, {})
F.mse_loss({}, {})
F.dropout({}) if {}.dtype is not t.complex64 else 0
F.dropout({}, 1.0)
t.logcumsumexp({}, 0)
t.trace({}[:, :2])
t.tensordot({}[:, :1], {}[:1], 1) if {}.dtype is not t.bool else 0
F.pad({}, (1, 1), mode="reflect")
F.pad({}, (1, 1), mode="replicate")
t.clamp_min({}, {})
t.clamp_max({}, 1) if {}.dtype is not t.bool else 0
t.cummax({}, 0)
t.topk({}, 1).values
t.aminmax({})
t.round({})
t.logaddexp2({}, {})
t.addbmm({}[:, :2], {}[None, :, :2], {}[None, :2, :2])
"""
LINES = """
F.unfold(images[0], 2)
F.smooth_l1_loss(i, t.ones(2, 3))
F.grid_sample(images[0], t.zeros(1, 1, 1, 2, dtype=t.int64), align_corners=True)
F.fold(i.reshape(1, 2, 3)[:, :, :1], 2, (2, 1))
F.max_unpool2d(images[0], images[0], 1)
F.fractional_max_pool2d(images[2], 1, output_size=2)
F.binary_cross_entropy(c, c)
F.binary_cross_entropy_with_logits(i, i)
b.kthvalue(1)
t.linspace(0, 1, 3, dtype=t.bool)
t.logspace(0, 1, 3, dtype=t.bool)
t.round(c, decimals=2)
t.vdot(b[0], b[0])
F.hardtanh(u, 0, 1)
t.nn.LayerNorm(3)(i)
t.arange(-1, 3, dtype=t.uint8)
t.arange(3, -1, -1, dtype=t.uint8)
t.arange(0, 2**62)
t.trapezoid(t.ones(2, 2), dx=1 + 1j)
t.cumulative_trapezoid(t.ones(2, 2), dx=1 + 1j)
t.arange(1.175494351e-38, 3.402823466e38)
t.tensor([1e-323, 0j, 1 + 2j], dtype=t.bool)
t.Tensor(t.ones(2), device="cpu")
t.ones(2).new(t.ones(2), device="cpu")
"""


@pytest.mark.parametrize("kind", ["i", "b", "c", "u"])
@pytest.mark.parametrize("line", ON_EACH.strip().splitlines())
def test_kinds_of_numbers(line: str, kind: str):
    check_line(line.replace("{}", kind), SETUP)


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_single_cases(line: str):
    check_line(line, SETUP)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_the_mean_square_of_large_halves_is_finite(kind: str):
    check_line(
        f"x = t.full((2, 4), 600.0, dtype=t.{kind}, requires_grad=True);"
        f"y = t.nn.functional.rms_norm(x, (4,), t.ones(4, dtype=t.{kind}));"
        "y.sum().backward(); [y, y.grad_fn.name(), x.grad]"
    )
