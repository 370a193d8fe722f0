"""Parameters begin with PyTorch's numbers, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape

torch = pytest.importorskip("torch")

LAYERS: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(20, 30),
    "Linear, wide": lambda nn: nn.Linear(784, 512),
    "Linear, no bias": lambda nn: nn.Linear(3, 2, bias=False),
    "Bilinear": lambda nn: nn.Bilinear(4, 5, 6),
    "Conv1d": lambda nn: nn.Conv1d(3, 4, 5),
    "Conv2d": lambda nn: nn.Conv2d(3, 16, 3),
    "Conv3d": lambda nn: nn.Conv3d(2, 4, 3),
    "Conv2d, groups": lambda nn: nn.Conv2d(4, 8, 3, groups=2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(4, 6, 3),
    "Embedding": lambda nn: nn.Embedding(10, 7),
    "Embedding, padding": lambda nn: nn.Embedding(10, 7, padding_idx=3),
    "EmbeddingBag": lambda nn: nn.EmbeddingBag(10, 7),
    "BatchNorm2d": lambda nn: nn.BatchNorm2d(3),
    "LayerNorm": lambda nn: nn.LayerNorm(4),
    "GroupNorm": lambda nn: nn.GroupNorm(2, 4),
    "PReLU": lambda nn: nn.PReLU(3),
}

FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda init, w: init.uniform_(w, -1, 2),
    "normal_": lambda init, w: init.normal_(w, 1, 2),
    "constant_": lambda init, w: init.constant_(w, 0.3),
    "ones_": lambda init, w: init.ones_(w),
    "zeros_": lambda init, w: init.zeros_(w),
    "xavier_uniform_": lambda init, w: init.xavier_uniform_(w, gain=2),
    "xavier_normal_": lambda init, w: init.xavier_normal_(w),
    "kaiming_uniform_": lambda init, w: init.kaiming_uniform_(w, mode="fan_out"),
    "kaiming_normal_": lambda init, w: init.kaiming_normal_(w, nonlinearity="relu"),
    "trunc_normal_": lambda init, w: init.trunc_normal_(w, std=0.5),
    "trunc_normal_, tail": lambda init, w: init.trunc_normal_(w, 0, 1, 2, 3),
}


def seeded(module: Any, make: Callable[[], Any]) -> Any:
    module.manual_seed(17)
    return make()


def values(tensor: Any) -> Any:
    return np.asarray(tensor.detach().numpy())


@pytest.mark.parametrize("case", LAYERS)
def test_layers_begin_with_pytorchs_numbers(case: str) -> None:
    ours = seeded(gradtape, lambda: LAYERS[case](gradtape.nn))
    theirs = seeded(torch, lambda: LAYERS[case](torch.nn))
    for (name, a), (_, b) in zip(
        ours.state_dict().items(), theirs.state_dict().items(), strict=True
    ):
        np.testing.assert_array_equal(values(a), values(b), err_msg=name)


@pytest.mark.parametrize("shape", [(30, 20), (4, 6, 3, 3)])
@pytest.mark.parametrize("case", FILLS)
def test_fills_give_pytorchs_numbers(case: str, shape: tuple[int, ...]) -> None:
    ours, theirs = (
        seeded(m, lambda m=m: FILLS[case](m.nn.init, m.empty(*shape)))
        for m in (gradtape, torch)
    )
    if case == "trunc_normal_, tail":  # the density is compared after exp and log
        np.testing.assert_allclose(values(ours), values(theirs), rtol=1e-6)
    else:
        np.testing.assert_array_equal(values(ours), values(theirs))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 2, 3)])
def test_orthogonal_is_pytorchs_up_to_rounding(shape: tuple[int, ...]) -> None:
    ours, theirs = (
        seeded(m, lambda m=m: m.nn.init.orthogonal_(m.empty(*shape), gain=2))
        for m in (gradtape, torch)
    )
    np.testing.assert_allclose(values(ours), values(theirs), rtol=1e-4, atol=1e-5)


def test_eye_dirac_and_sparse_are_pytorchs() -> None:
    for fill, shape in (
        (lambda init, w: init.eye_(w), (3, 4)),
        (lambda init, w: init.dirac_(w), (4, 3, 3, 3)),
        (lambda init, w: init.dirac_(w, 2), (4, 3, 3)),
        (lambda init, w: init.sparse_(w, 0.4), (20, 5)),
    ):
        ours, theirs = (
            seeded(
                m, lambda m=m, fill=fill, shape=shape: fill(m.nn.init, m.empty(*shape))
            )
            for m in (gradtape, torch)
        )
        np.testing.assert_array_equal(values(ours), values(theirs))


@pytest.mark.parametrize(
    "name", ["relu", "tanh", "selu", "linear", "conv2d", "sigmoid"]
)
def test_gains_are_pytorchs(name: str) -> None:
    assert gradtape.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)


def test_refusals_are_in_pytorchs_words() -> None:
    for program in (
        lambda t: t.nn.init.calculate_gain("swish"),
        lambda t: t.nn.init.calculate_gain("leaky_relu", "x"),
        lambda t: t.nn.init.xavier_uniform_(t.empty(3)),
        lambda t: t.nn.init.kaiming_uniform_(t.empty(3, 3), mode="fan"),
        lambda t: t.nn.init.eye_(t.empty(3)),
        lambda t: t.nn.init.dirac_(t.empty(3, 3)),
        lambda t: t.nn.init.orthogonal_(t.empty(3)),
    ):
        with pytest.raises(ValueError) as theirs:  # noqa: PT011 - text compared below
            program(torch)
        with pytest.raises(ValueError) as ours:  # noqa: PT011
            program(gradtape)
        assert str(ours.value) == str(theirs.value)


def test_filling_counts_as_a_write() -> None:
    weight = gradtape.nn.Parameter(gradtape.ones(2, 2))
    before = weight._version
    gradtape.nn.init.normal_(weight)
    assert weight._version == before + 1
    assert weight._storage.writes[-1].op == "normal_"
    assert weight.is_leaf
