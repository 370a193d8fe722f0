"""Sampling between pixels has second derivatives, those of PyTorch."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import gradtape
from gradtape.autograd import gradgradcheck

from .lines import check_line

CASES = [
    (dims, mode, padding, align)
    for dims, mode, padding, align in product(
        (2, 3),
        ("bilinear", "bicubic", "nearest"),
        ("zeros", "border", "reflection"),
        (True, False),
    )
    if (dims, mode) != (3, "bicubic")
]
PROGRAM = (
    "x = t.rand(2, 2, *(3, 4, 2)[:{dims}], dtype=t.float64, requires_grad=True);"
    "g = (t.rand(2, *(2, 2, 2)[:{dims}], {dims}, dtype=t.float64) * 2.6 - 1.3);"
    "g.requires_grad_();"
    "y = t.nn.functional.grid_sample(x, g, '{mode}', '{padding}', {align});"
    "a, b = t.autograd.grad(y.pow(2).sum(), (x, g), create_graph=True);"
    "(a.sin() + 1).sum().add(b.cos().sum()).backward();"
    "[x.grad, g.grad]"
)


@pytest.mark.parametrize(("dims", "mode", "padding", "align"), CASES)
def test_second_derivatives_are_those_of_pytorch(
    dims: int, mode: str, padding: str, align: bool
):
    check_line(PROGRAM.format(dims=dims, mode=mode, padding=padding, align=align))


@pytest.mark.parametrize(("dims", "mode"), [(2, "bicubic"), (3, "bilinear")])
def test_second_derivatives_agree_with_differences(dims: int, mode: str):
    gradtape.manual_seed(0)
    kind = gradtape.float64
    image = gradtape.randn(1, 2, *(3, 4, 2)[:dims], dtype=kind, requires_grad=True)
    grid = gradtape.rand(1, *(2, 1, 2)[:dims], dims, dtype=kind) * 1.6 - 0.8

    def sample(x: Any, g: Any) -> Any:
        return gradtape.nn.functional.grid_sample(x, g, mode, align_corners=True)

    assert gradgradcheck(sample, (image, grid.requires_grad_()))


def test_the_nodes_have_names():
    check_line(
        "x = t.rand(1, 1, 2, 2, requires_grad=True); g = t.zeros(1, 1, 1, 2);"
        "y = t.nn.functional.grid_sample(x, g, align_corners=True);"
        "d, = t.autograd.grad(y.pow(2).sum(), x, create_graph=True);"
        "d.grad_fn.name()"
    )
