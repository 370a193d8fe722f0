"""Layers are found in the files of ``torch.nn.modules`` that programs name."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from gradtape import nn

from ..oracle import assert_same

torch = pytest.importorskip("torch")

FILES = [
    "activation",
    "adaptive",
    "batchnorm",
    "channelshuffle",
    "container",
    "conv",
    "distance",
    "dropout",
    "flatten",
    "fold",
    "instancenorm",
    "linear",
    "linear_cross_entropy_options",
    "loss",
    "normalization",
    "padding",
    "pixelshuffle",
    "pooling",
    "rnn",
    "sparse",
    "transformer",
    "upsampling",
]

BASES = [
    ("batchnorm", "_BatchNorm", "BatchNorm2d"),
    ("batchnorm", "_NormBase", "InstanceNorm1d"),
    ("conv", "_ConvNd", "ConvTranspose3d"),
    ("conv", "_ConvTransposeNd", "ConvTranspose1d"),
    ("dropout", "_DropoutNd", "AlphaDropout"),
    ("instancenorm", "_InstanceNorm", "InstanceNorm3d"),
    ("loss", "_Loss", "MSELoss"),
    ("loss", "_WeightedLoss", "CrossEntropyLoss"),
    ("pooling", "_AdaptiveAvgPoolNd", "AdaptiveAvgPool1d"),
    ("pooling", "_AdaptiveMaxPoolNd", "AdaptiveMaxPool2d"),
    ("pooling", "_AvgPoolNd", "AvgPool2d"),
    ("pooling", "_MaxPoolNd", "MaxPool3d"),
]


@pytest.mark.parametrize("file", FILES)
def test_each_file_has_the_layers_of_pytorchs(file: str) -> None:
    theirs = importlib.import_module(f"torch.nn.modules.{file}")
    ours = importlib.import_module(f"gradtape.nn.modules.{file}")
    assert getattr(nn.modules, file) is ours
    layers = [
        name
        for name, kind in vars(theirs).items()
        if getattr(kind, "__module__", "") == theirs.__name__ and hasattr(nn, name)
    ]
    assert layers
    for name in layers:
        assert getattr(ours, name) is getattr(nn, name), name


@pytest.mark.parametrize(("file", "base", "layer"), BASES)
def test_bases_tell_layers_apart(file: str, base: str, layer: str) -> None:
    def program(t: Any) -> Any:
        kind = getattr(getattr(t.nn.modules, file), base)
        return [issubclass(getattr(t.nn, name), kind) for name in (layer, "Linear")]

    assert_same(program)


def test_sizes_are_repeated_per_dimension() -> None:
    def program(t: Any) -> Any:
        sizes = t.nn.modules.utils
        return [
            [each(3) for each in (sizes._single, sizes._pair, sizes._triple)],
            [sizes._quadruple([1, 2]), sizes._ntuple(5)(1), sizes._pair.__name__],
            sizes._reverse_repeat_tuple((1, 2), 2),
            sizes._list_with_default([None, 3], [5, 6, 7]),
            sizes._list_with_default(3, [5]),
        ]

    assert_same(program)


def test_a_prefix_is_cut_off_the_names_of_a_state_dict() -> None:
    def program(t: Any) -> Any:
        outer = t.nn.Sequential(t.nn.BatchNorm1d(2), t.nn.Linear(2, 2))
        state = t.nn.DataParallel(outer).state_dict()
        t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        outer.load_state_dict(state)
        plain = {"modules.a": 1, "module.b": 2}
        t.nn.modules.utils.consume_prefix_in_state_dict_if_present(plain, "module.")
        return [list(state), list(state._metadata.items()), list(plain.items())]

    assert_same(program)
