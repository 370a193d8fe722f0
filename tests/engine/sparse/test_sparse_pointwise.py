"""Functions that make zeros of zeros take the values of COO tensors alone."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line
from ._sparse_programs import settle

settle()

SETUP = """
x = t.tensor([[0.0, -0.5], [0.25, 0.0]]).to_sparse()
twice = t.sparse_coo_tensor([[0, 0]], [0.25, 0.5], (2,), is_coalesced=False)
ints = t.tensor([[0, -3], [2, 0]]).to_sparse()
wide = t.tensor([[0, -3 + 1j], [2j, 0]]).to_sparse()
half = x.half()
"""
NAMES = [
    "erf",
    "erfinv",
    "isneginf",
    "isposinf",
    "log1p",
    "nan_to_num",
    "sgn",
    "sign",
    "signbit",
]
OTHERS = """
x.any()
x / x
t.isneginf(t.ones(2, dtype=t.complex64))
t.signbit(t.ones(2, dtype=t.complex64))
"""


@pytest.mark.parametrize("given", ["x", "twice", "ints", "wide", "half"])
@pytest.mark.parametrize("name", NAMES)
def test_values_become_those_of_dense_tensors(name: str, given: str):
    check_line(
        f"y = t.{name}({given}); [y.layout, y.is_coalesced(), y.to_dense()]", SETUP
    )


@pytest.mark.parametrize("name", ["erf", "log1p", "nan_to_num", "sgn", "sign"])
def test_values_are_written_in_place(name: str):
    check_line(f"y = x.{name}_(); [y is x, x.to_dense()]", SETUP)


@pytest.mark.parametrize("line", OTHERS.strip().splitlines())
def test_what_else_sparse_tensors_answer(line: str):
    check_line(line, SETUP)


SLOPES = ["abs", "ceil", "floor", "log1p", "relu", "round", "sign", "trunc"]


@pytest.mark.parametrize("given", ["x", "twice", "wide"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_are_those_of_the_values(name: str, given: str):
    check_line(
        f"z = {given}.requires_grad_(); y = t.{name}(z).to_dense(); y.sum().abs()"
        ".backward(); [type(y.grad_fn).__name__, z.grad.layout, z.grad.to_dense()]",
        SETUP,
    )
