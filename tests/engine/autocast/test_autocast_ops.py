"""Autocast: which ops and layers run in which precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradtape as gt
from gradtape._autocast.autocast import Caster, Casting, state
from gradtape._autocast.op_lists import RULES
from gradtape._modes.grad_mode import mode

from ..oracle import assert_same
from ..processor import skip_without_low_lstm

FULL_PRECISION = 5e-2
"""How far bfloat16 results may be apart where the order of sums differs."""


def weights(t: Any, *shape: int) -> Any:
    count = int(np.prod(shape))
    values = np.linspace(-1, 1, count).reshape(shape)
    return t.tensor(values.tolist(), requires_grad=True)


def kinds(t: Any, *found: Any) -> list[str]:
    """The dtypes of results, and the names of their nodes."""
    return [f"{each.dtype} {type(each.grad_fn).__name__}" for each in found]


LOW = {
    "matmul": lambda t, x: x @ x,
    "mm": lambda t, x: t.mm(x, x),
    "bmm": lambda t, x: t.bmm(x[None], x[None]),
    "addmm": lambda t, x: t.addmm(x, x, x),
    "baddbmm": lambda t, x: t.baddbmm(x[None], x[None], x[None]),
    "addbmm": lambda t, x: t.addbmm(x, x[None], x[None]),
    "linear": lambda t, x: t.nn.functional.linear(x, x, x[0]),
    "linear3": lambda t, x: t.nn.functional.linear(x[None], x),
    "vector": lambda t, x: x @ x[0],
    "einsum": lambda t, x: t.einsum("ij,jk->ik", x, x) + 0,
    "conv1d": lambda t, x: t.nn.functional.conv1d(x[None], x[None]),
    "conv2d": lambda t, x: t.nn.functional.conv2d(x[None, None], x[None, None]),
    "conv3d": lambda t, x: t.conv3d(x[None, None, None], x[None, None, None]),
    "conv_transpose1d": lambda t, x: t.conv_transpose1d(x[None], x[:, None]),
    "prelu": lambda t, x: t.prelu(x, x[0, :1]),
    "attention": lambda t, x: (
        t.nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3) + 0
    ),
    "vecdot": lambda t, x: t.linalg.vecdot(x, x),
    "multi_dot": lambda t, x: t.linalg.multi_dot([x, x, x]),
    "tensordot": lambda t, x: t.tensordot(x, x, 1),
}
UNLISTED = {
    "mv": lambda t, x: t.mv(x, x[0]),
    "dot": lambda t, x: t.dot(x[0], x[1]),
    "exp": lambda t, x: x.exp(),
    "softmax": lambda t, x: x.softmax(0),
    "sum": lambda t, x: x.sum(),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (3,)),
    "mixed": lambda t, x: x + x.bfloat16(),
}
FULL = {
    "prod": lambda t, x: t.prod(x),
    "trace": lambda t, x: t.trace(x),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x * 2),
    "l1_loss": lambda t, x: t.nn.functional.l1_loss(x, x * 2),
    "smooth_l1_loss": lambda t, x: t.nn.functional.smooth_l1_loss(x, x * 2),
    "huber_loss": lambda t, x: t.nn.functional.huber_loss(x, x * 2),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([0, 1, 2])),
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x, t.tensor([0, 1, 2])),
    "kl_div": lambda t, x: t.nn.functional.kl_div(
        x, x.sigmoid(), reduction="batchmean"
    ),
    "bce_logits": lambda t, x: t.nn.functional.binary_cross_entropy_with_logits(
        x, x.sigmoid()
    ),
    "soft_margin_loss": lambda t, x: t.nn.functional.soft_margin_loss(
        x, x.detach().sign()
    ),
    "cdist": lambda t, x: t.cdist(x, x + 1),
    "quantile": lambda t, x: t.quantile(x, 0.5),
    "rfft": lambda t, x: t.fft.rfft(x).real,
    "max_pool3d": lambda t, x: t.nn.functional.max_pool3d(x[None, None], (1, 2, 2)),
    "reflect": lambda t, x: t.nn.functional.pad(x[None], (1, 1), mode="reflect"),
    "view_as_complex": lambda t, x: t.view_as_real(t.view_as_complex(x[:, :2])),
}


@pytest.mark.parametrize("name", [*LOW, *UNLISTED])
def test_ops_cast_what_is_in_full_precision(name: str) -> None:
    call: Callable[..., Any] = {**LOW, **UNLISTED}[name]

    def program(t: Any) -> Any:
        x = weights(t, 3, 3)
        with t.autocast("cpu"):
            found = call(t, x)
        found.float().sum().backward()
        return kinds(t, found), found, x.grad.dtype, list(x.grad.shape)

    assert_same(program, rtol=FULL_PRECISION)


@pytest.mark.parametrize("name", FULL)
def test_ops_cast_what_is_in_low_precision(name: str) -> None:
    def program(t: Any) -> Any:
        x = weights(t, 3, 3).detach().bfloat16().requires_grad_()
        with t.autocast("cpu"):
            found = FULL[name](t, x)
        return found.dtype, list(found.shape), found.detach()

    assert_same(program, rtol=FULL_PRECISION)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_joining_takes_the_widest(precision: str) -> None:
    def program(t: Any) -> Any:
        low = t.ones(2, 2, dtype=getattr(t, precision))
        wide = t.ones(2, 2)
        with t.autocast("cpu", dtype=low.dtype):
            return (
                t.cat([low, low]).dtype,
                t.cat([low, wide]).dtype,
                t.stack([wide, low]).dtype,
                t.cat([low, wide.double()]).dtype,
                t.cat([low, wide.int()]).dtype,
                t.index_copy(wide, 0, t.tensor([0]), low[:1]).dtype,
            )

    assert_same(program)


def test_joining_another_low_precision_is_refused() -> None:
    def program(t: Any) -> Any:
        with t.autocast("cpu"):
            t.cat([t.ones(2).half(), t.ones(2).bfloat16()])

    assert_same(program)


def test_double_precision_stays_as_it_is() -> None:
    def program(t: Any) -> Any:
        x = t.eye(2).double()
        with t.autocast("cpu"):
            return (x @ x).dtype, t.prod(x).dtype

    assert_same(program)


def test_writing_into_a_tensor_knows_no_autocast() -> None:
    def program(t: Any) -> Any:
        x = t.eye(2).bfloat16()
        out = t.empty(2, dtype=t.bfloat16)
        with t.autocast("cpu"):
            t.prod(x, 0, out=out)
            return out, t.eye(2).addmm_(t.eye(2), t.eye(2)).dtype

    assert_same(program)


# ---- layers ----

LAYERS = {
    "Linear": (lambda n: n.Linear(3, 4), (2, 3)),
    "ReLU": (lambda n: n.Sequential(n.Linear(3, 4), n.ReLU()), (2, 3)),
    "Conv2d": (lambda n: n.Conv2d(1, 2, 2), (1, 1, 3, 3)),
    "BatchNorm1d": (lambda n: n.Sequential(n.Linear(3, 4), n.BatchNorm1d(4)), (4, 3)),
    "LayerNorm": (lambda n: n.Sequential(n.Linear(3, 4), n.LayerNorm(4)), (4, 3)),
    "LSTM": (lambda n: n.LSTM(3, 4), (5, 2, 3)),
    "LSTM deep": (lambda n: n.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
    "GRU": (lambda n: n.GRU(3, 4), (5, 2, 3)),
    "RNN": (lambda n: n.RNN(3, 4), (5, 2, 3)),
    "LSTMCell": (lambda n: n.LSTMCell(3, 4), (2, 3)),
    "GRUCell": (lambda n: n.GRUCell(3, 4), (2, 3)),
    "TransformerEncoderLayer": (
        lambda n: n.TransformerEncoderLayer(4, 2, 8, dropout=0.0),
        (3, 2, 4),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_return_the_same_types(name: str) -> None:
    if name in ("LSTM", "LSTM deep"):
        skip_without_low_lstm()
    make, shape = LAYERS[name]

    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer, x = make(t.nn), weights(t, *shape)
        with t.autocast("cpu"):
            found = layer(x)
        parts = flat(found)
        sum(part.float().sum() for part in parts).backward()
        near = [
            bool((low - full).abs().max() < 0.05)
            for low, full in zip(parts, flat(layer(x)), strict=True)
        ]
        grads = [p.grad.dtype for p in layer.parameters()]
        return [(part.dtype, part.shape) for part in parts], near, grads

    assert_same(program)


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [part for each in value for part in flat(each)]
    return [value]


# ---- the lists ----


@pytest.mark.parametrize("kind", ["CPU", "CUDA"])
def test_the_lists_are_pytorchs(kind: str) -> None:
    """PyTorch's dispatcher knows for which ops it has a rule."""
    torch = pytest.importorskip("torch")
    known = {
        name.removeprefix("aten::").partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
        and torch._C._dispatch_has_kernel_for_dispatch_key(name, f"Autocast{kind}")
    }
    inside = {  # parts of ops that this package has whole
        "_grid_sampler_2d_cpu_fallback",
        "_lu_with_info",
        "_scaled_dot_product_flash_attention",
        "_thnn_fused_gru_cell",
        "_thnn_fused_lstm_cell",
        "cudnn_convolution",
        "cudnn_convolution_transpose",
        "fake_quantize_per_tensor_affine",
        "multilabel_margin_loss_forward",
    }
    ours = set(RULES[kind.lower()])
    parts = {"grid_sampler_2d", "grid_sampler_3d"}  # of what CUDA lists as grid_sampler
    assert known - inside == ours - parts | known & parts


class OnCuda(Caster):
    """The rules of CUDA for tensors of the host: no device is needed to test them."""

    def __init__(self) -> None:
        super().__init__(state, "cuda")
        self.device_type = "cpu"


@pytest.fixture
def cuda_rules() -> Iterator[None]:
    """Apply to the host what is listed for CUDA devices."""
    mode.now.casting = Casting((OnCuda(),))
    mode.now.settle()
    yield
    mode.now.casting = None
    mode.now.settle()


@pytest.mark.usefixtures("cuda_rules")
def test_the_rules_of_cuda() -> None:
    half, full = gt.ones(2, 2).half(), gt.ones(2, 2)
    F = gt.nn.functional
    found = {
        "low": [
            full @ full,
            gt.mv(full, full[0]),
            F.linear(full, full),
            gt.addmv(full[0], full, full[0]),
            gt.einsum("ij,jk", full, full),
        ],
        "full": [
            half.exp(),
            half**2,
            half.log_softmax(0),
            F.layer_norm(half, (2,)),
            half.sum(),
            half.cumsum(0),
            half.norm(),
            F.mse_loss(half, half),
        ],
        "own": [half.sum(dtype=gt.float16), half.sigmoid(), half + half, half.mean()],
        "widest": [gt.addcmul(half, half, full), gt.dot(half[0], half[0])],
    }
    dtypes = {name: [each.dtype for each in all_] for name, all_ in found.items()}
    assert dtypes["low"] == [gt.float16] * 5
    assert dtypes["full"] == [gt.float32] * 8
    assert dtypes["own"] == [gt.float16] * 4
    assert dtypes["widest"] == [gt.float32, gt.float16]
    with pytest.raises(RuntimeError, match="are unsafe to autocast"):
        F.binary_cross_entropy(half.sigmoid(), half)
