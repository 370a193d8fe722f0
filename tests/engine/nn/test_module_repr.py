"""Every module prints as PyTorch's does."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape

torch = pytest.importorskip("torch")

LAYERS = """
Identity(1)  Linear(2, 3)  Linear(2, 3, bias=False)  Bilinear(2, 3, 4)  Flatten()
Unflatten(1, (2, 2))  Conv1d(2, 4, 3)  Conv2d(2, 4, 3, stride=2, padding=1, dilation=2)
Conv2d(2, 4, (3, 5), padding='same', groups=2, bias=False, padding_mode='circular')
Conv3d(1, 2, 3)  ConvTranspose1d(2, 4, 3)  ConvTranspose2d(2, 4, 3, 2, 1, 1)
ConvTranspose3d(1, 2, 3, bias=False)  MaxPool1d(2)  MaxPool2d(2, ceil_mode=True)
MaxPool3d((2, 2, 1), 1)  MaxUnpool1d(2)  MaxUnpool2d(2, 1)  MaxUnpool3d(2)  AvgPool1d(2)
AvgPool2d(2, padding=1)  AvgPool3d(2)  LPPool1d(2, 3)  LPPool2d(1.5, 2)  LPPool3d(2, 2)
AdaptiveAvgPool1d(3)  AdaptiveAvgPool2d((1, None))  AdaptiveAvgPool3d(1)
AdaptiveMaxPool1d(3)  AdaptiveMaxPool2d(3)  AdaptiveMaxPool3d(1)  BatchNorm1d(4)
BatchNorm2d(4, affine=False)  BatchNorm3d(4, momentum=None)  InstanceNorm1d(4)
InstanceNorm2d(4, affine=True)  InstanceNorm3d(4)  LayerNorm(4)
LayerNorm((2, 3), bias=False)
GroupNorm(2, 4)  RMSNorm(4)  LocalResponseNorm(2)  ReLU()  ReLU(True)  ReLU6()  SELU()
SiLU(inplace=True)  Mish()  Hardsigmoid()  Hardswish(True)  Hardtanh(-2, 2)
Threshold(0.1, 2)
LeakyReLU(0.2)  RReLU()  ELU(inplace=True)  CELU(0.5)  GLU(1)  GELU('tanh')
Hardshrink()
Softshrink(0.3)  Softplus()  PReLU(3)  Sigmoid()  Tanh()  LogSigmoid()  Softsign()
Tanhshrink()  Softmax(1)  Softmin()  LogSoftmax(dim=-1)  Softmax2d()  Dropout()
Dropout1d(0.2)  Dropout2d(inplace=True)  Dropout3d()  AlphaDropout()
FeatureAlphaDropout()
Embedding(5, 3)  Embedding(5, 3, padding_idx=-1, max_norm=2.0, sparse=True)
EmbeddingBag(5, 3)  EmbeddingBag(5, 3, mode='sum', padding_idx=1)  L1Loss()  MSELoss()
SmoothL1Loss()  HuberLoss()  NLLLoss()  CrossEntropyLoss()  BCELoss()
LinearCrossEntropyLoss(4, 3, bias=True)
BCEWithLogitsLoss()
KLDivLoss()  HingeEmbeddingLoss()  CosineEmbeddingLoss()  MarginRankingLoss()
TripletMarginLoss()  TripletMarginWithDistanceLoss()  MultiMarginLoss()
MultiLabelMarginLoss()  MultiLabelSoftMarginLoss()  PoissonNLLLoss()  GaussianNLLLoss()
SoftMarginLoss()  PairwiseDistance()  CosineSimilarity()  Unfold(2)  Fold((4, 4), 2)
PixelShuffle(2)  PixelUnshuffle(2)  ChannelShuffle(2)  ConstantPad1d(1, 2.5)
ConstantPad2d((1, 2, 0, 1), 0)  ConstantPad3d(1, 1)  ZeroPad1d(1)  ZeroPad2d(1)
ZeroPad3d(1)  ReflectionPad1d(1)  ReflectionPad2d(1)  ReflectionPad3d(1)
ReplicationPad1d(1)  ReplicationPad2d(2)  ReplicationPad3d(1)  CircularPad1d(1)
CircularPad2d(1)  CircularPad3d(1)  Sequential()  ModuleList()  ModuleDict()
ParameterList()  ParameterDict()
"""


def calls() -> list[str]:
    return [c for line in LAYERS.strip().split("\n") for c in line.split("  ") if c]


@pytest.mark.parametrize("call", calls())
def test_prints_as_in_pytorch(call: str) -> None:
    ours, theirs = (eval(call, dict(vars(m.nn))) for m in (gradtape, torch))
    assert repr(ours) == repr(theirs)


def test_state_has_the_same_names_and_shapes() -> None:
    for call in calls():
        ours, theirs = (eval(call, dict(vars(m.nn))) for m in (gradtape, torch))
        shapes = [
            {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
            for module in (ours, theirs)
        ]
        assert shapes[0] == shapes[1], call


def nested(t: Any) -> Any:
    nn = t.nn
    block = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    return nn.ModuleDict(
        {
            "body": nn.ModuleList([block, block, nn.Linear(2, 1), nn.Tanh()]),
            "head": nn.Sequential(nn.Identity(), nn.Sequential()),
            "free": nn.ParameterList([t.ones(2, 3), "text"]),
            "named": nn.ParameterDict({"a": t.ones(2), "b": 3}),
        }
    )


def test_containers_print_as_in_pytorch() -> None:
    assert repr(nested(gradtape)) == repr(nested(torch))


def test_parameters_print_as_in_pytorch() -> None:
    texts = [repr(m.nn.Parameter(m.ones(2, 2))) for m in (gradtape, torch)]
    assert texts[0] == texts[1]
