"""Every layer is exported, and onnxruntime gives what the layer gives, at two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradtape as torch
from gradtape import nn

pytest.importorskip("onnxruntime")

from ._onnx_runs import assert_same, exported

ROWS, IMAGES, VOLUMES = (2, 5, 4), (2, 4, 8, 8), (2, 4, 6, 6, 6)

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(4, 3), ROWS),
    "linear-no-bias": (lambda: nn.Linear(4, 3, bias=False), ROWS),
    "weight-norm": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)),
        ROWS,
    ),
    "spectral-norm": (lambda: nn.utils.spectral_norm(nn.Linear(4, 3)), ROWS),
    "conv1d": (lambda: nn.Conv1d(5, 3, 3), ROWS),
    "conv2d": (lambda: nn.Conv2d(4, 4, 3, 2, 1, groups=2), IMAGES),
    "conv2d-dilated": (lambda: nn.Conv2d(4, 3, 2, dilation=2), IMAGES),
    "conv2d-circular": (
        lambda: nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
        IMAGES,
    ),
    "conv3d": (lambda: nn.Conv3d(4, 3, 3, padding="same"), VOLUMES),
    "conv-transpose1d": (lambda: nn.ConvTranspose1d(5, 3, 3, 2), ROWS),
    "conv-transpose2d": (lambda: nn.ConvTranspose2d(4, 4, 3, 2, 1, 1), IMAGES),
    "conv-transpose3d": (lambda: nn.ConvTranspose3d(4, 4, 3, 2), VOLUMES),
    "max-pool1d": (lambda: nn.MaxPool1d(2), ROWS),
    "max-pool2d": (lambda: nn.MaxPool2d(3, 2, 1), IMAGES),
    "max-pool2d-ceil": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), IMAGES),
    "max-pool2d-indices": (lambda: nn.MaxPool2d(2, return_indices=True), IMAGES),
    "max-pool3d": (lambda: nn.MaxPool3d(2), VOLUMES),
    "avg-pool1d": (lambda: nn.AvgPool1d(2), ROWS),
    "avg-pool2d": (lambda: nn.AvgPool2d(3, 2, 1), IMAGES),
    "avg-pool2d-inside": (
        lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        IMAGES,
    ),
    "avg-pool2d-ceil": (lambda: nn.AvgPool2d(3, 2, ceil_mode=True), IMAGES),
    "avg-pool2d-divisor": (lambda: nn.AvgPool2d(2, divisor_override=3), IMAGES),
    "avg-pool3d": (lambda: nn.AvgPool3d(2), VOLUMES),
    "adaptive-avg1": (lambda: nn.AdaptiveAvgPool2d(1), IMAGES),
    "adaptive-avg3": (lambda: nn.AdaptiveAvgPool2d((3, 1)), IMAGES),
    "adaptive-max1": (lambda: nn.AdaptiveMaxPool2d(1), IMAGES),
    "adaptive-max3": (lambda: nn.AdaptiveMaxPool2d(3), IMAGES),
    "adaptive-max1d": (lambda: nn.AdaptiveMaxPool1d(2), ROWS),
    "lp-pool2d": (lambda: nn.LPPool2d(2, 2), IMAGES),
    "batch-norm1d": (lambda: nn.BatchNorm1d(5), ROWS),
    "batch-norm2d": (lambda: nn.BatchNorm2d(4), IMAGES),
    "batch-norm2d-plain": (lambda: nn.BatchNorm2d(4, affine=False), IMAGES),
    "batch-norm3d": (lambda: nn.BatchNorm3d(4), VOLUMES),
    "layer-norm": (lambda: nn.LayerNorm((5, 4)), ROWS),
    "layer-norm-plain": (lambda: nn.LayerNorm(4, elementwise_affine=False), ROWS),
    "group-norm": (lambda: nn.GroupNorm(2, 4), IMAGES),
    "instance-norm": (lambda: nn.InstanceNorm2d(4, affine=True), IMAGES),
    "instance-norm-tracked": (
        lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        IMAGES,
    ),
    "rms-norm": (lambda: nn.RMSNorm(4), ROWS),
    "local-response-norm": (lambda: nn.LocalResponseNorm(2), IMAGES),
    "softmax": (lambda: nn.Softmax(-1), ROWS),
    "softmax2d": (lambda: nn.Softmax2d(), IMAGES),
    "softmin": (lambda: nn.Softmin(1), ROWS),
    "log-softmax": (lambda: nn.LogSoftmax(-1), ROWS),
    "dropout": (lambda: nn.Dropout(), ROWS),
    "alpha-dropout": (lambda: nn.AlphaDropout(), ROWS),
    "zero-pad": (lambda: nn.ZeroPad2d((1, 2, 0, 1)), IMAGES),
    "crop": (lambda: nn.ZeroPad2d(-1), IMAGES),
    "constant-pad": (lambda: nn.ConstantPad1d((1, 2), 3.0), ROWS),
    "reflection-pad": (lambda: nn.ReflectionPad2d(1), IMAGES),
    "replication-pad": (lambda: nn.ReplicationPad3d(1), VOLUMES),
    "circular-pad": (lambda: nn.CircularPad2d(1), IMAGES),
    "upsample": (lambda: nn.Upsample(scale_factor=2), IMAGES),
    "upsample-size": (lambda: nn.Upsample((5, 11)), IMAGES),
    "upsample-exact": (lambda: nn.Upsample((5, 11), mode="nearest-exact"), IMAGES),
    "upsample-linear": (lambda: nn.Upsample(scale_factor=2, mode="linear"), ROWS),
    "upsample-bilinear": (lambda: nn.Upsample((5, 5), mode="bilinear"), IMAGES),
    "upsample-corners": (
        lambda: nn.Upsample((5, 9), mode="bilinear", align_corners=True),
        IMAGES,
    ),
    "upsample-bicubic": (lambda: nn.Upsample(scale_factor=2, mode="bicubic"), IMAGES),
    "pixel-shuffle": (lambda: nn.PixelShuffle(2), IMAGES),
    "pixel-unshuffle": (lambda: nn.PixelUnshuffle(2), IMAGES),
    "channel-shuffle": (lambda: nn.ChannelShuffle(2), IMAGES),
    "flatten": (lambda: nn.Flatten(), ROWS),
    "unflatten": (lambda: nn.Unflatten(2, (2, 2)), ROWS),
    "identity": (lambda: nn.Identity(), ROWS),
    "unfold": (lambda: nn.Unfold(2), IMAGES),
    "fold": (lambda: nn.Fold((4, 4), 2), (2, 4, 9)),
    "lstm": (
        lambda: nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True),
        ROWS,
    ),
    "lstm-projected": (lambda: nn.LSTM(4, 3, proj_size=2, batch_first=True), ROWS),
    "gru": (lambda: nn.GRU(4, 3, 2, batch_first=True, bias=False), ROWS),
    "rnn": (lambda: nn.RNN(4, 3, batch_first=True), ROWS),
    "rnn-relu": (lambda: nn.RNN(4, 3, nonlinearity="relu", batch_first=True), ROWS),
    "lstm-cell": (lambda: nn.LSTMCell(4, 3), (2, 4)),
    "gru-cell": (lambda: nn.GRUCell(4, 3), (2, 4)),
    "rnn-cell": (lambda: nn.RNNCell(4, 3), (2, 4)),
    "encoder-layer": (
        lambda: nn.TransformerEncoderLayer(
            4, 2, 8, batch_first=True, norm_first=True, activation="gelu"
        ),
        ROWS,
    ),
    "encoder": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2
        ),
        ROWS,
    ),
    "threshold": (lambda: nn.Threshold(0.1, 2.0), ROWS),
    "prelu-channels": (lambda: nn.PReLU(5), ROWS),
    "gelu-tanh": (lambda: nn.GELU("tanh"), ROWS),
    "softplus-options": (lambda: nn.Softplus(2, 1), ROWS),
    "relu-in-place": (
        lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)),
        ROWS,
    ),
}

ACTIVATIONS = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


def check(model: nn.Module, shape: tuple[int, ...], **options: Any) -> None:
    """Export with a batch of two, run with two and with five."""
    torch.manual_seed(1)
    x, more = torch.randn(shape), torch.randn(5, *shape[1:])
    program = exported(model, (x,), {0: "batch"}, **options)
    assert_same(program, model, (x,), (more,))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_runs_in_onnxruntime_at_two_batch_sizes(name: str):
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    check(make(), shape)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_runs_in_onnxruntime(name: str):
    check(getattr(nn, name)(), ROWS)


@pytest.mark.parametrize("opset", [19, 20, 23])
def test_newer_opsets_have_other_operators_for_the_same(opset: int):
    layers = nn.Sequential(
        nn.Conv2d(4, 4, 3), nn.GELU(), nn.GroupNorm(2, 4), nn.AvgPool2d(3, 2, 1)
    )
    check(layers, IMAGES, opset_version=opset)


def test_layers_with_several_inputs():
    torch.manual_seed(0)
    x, y = torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    longer = torch.randn(3, 5, 4), torch.randn(3, 5, 4)
    for model in (
        nn.Bilinear(4, 4, 3),
        nn.CosineSimilarity(),
        nn.PairwiseDistance(),
        nn.Transformer(4, 2, 1, 1, 8, batch_first=True),
        nn.TransformerDecoderLayer(4, 2, 8, batch_first=True),
    ):
        assert_same(exported(model, (x, y), {0: "n"}), model, (x, y), longer)


def test_attention_with_weights():
    torch.manual_seed(0)
    x, more = torch.randn(2, 5, 4), torch.randn(3, 5, 4)
    model = nn.MultiheadAttention(4, 2, batch_first=True)
    program = exported(model, (x, x * 2, x + 1), {0: "n"})
    assert_same(program, model, (x, x * 2, x + 1), (more, more * 2, more + 1))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Embedding", {}),
        ("Embedding", {"padding_idx": 0}),
        ("EmbeddingBag", {"mode": "sum"}),
        ("EmbeddingBag", {"mode": "mean"}),
        ("EmbeddingBag", {"mode": "max"}),
    ],
    ids=str,
)
def test_embeddings(name: str, options: dict[str, Any]):
    model = getattr(nn, name)(6, 3, **options)
    codes = torch.tensor([[1, 2, 0], [3, 5, 2]])
    program = exported(model, (codes,), {0: "n"})
    assert_same(program, model, (codes,), (codes.repeat(2, 1),))


class Stateful(nn.Module):
    """An LSTM that is told its first state."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(4, 3, bidirectional=True)

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        return self.layer(x, (h, c))


def test_a_recurrent_layer_of_any_length_with_a_first_state():
    torch.manual_seed(0)
    model = Stateful()
    state = torch.randn(2, 2, 3), torch.randn(2, 2, 3)
    x, longer = torch.randn(5, 2, 4), torch.randn(9, 2, 4)
    program = torch.onnx.export(
        model, (x, *state), input_names=["x", "h", "c"], dynamic_axes={"x": {0: "t"}}
    )
    assert_same(program, model, (x, *state), (longer, *state))


def test_a_recurrent_layer_without_batch():
    model, x = nn.GRU(4, 3), torch.randn(5, 4)
    assert_same(exported(model, (x,)), model, (x,), (x * 2,))
