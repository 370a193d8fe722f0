"""Functions over lists of tensors do as PyTorch's, in place and with gradients."""

from __future__ import annotations

from typing import Any

import pytest

from ..nn.lines import check_line
from ..oracle import assert_same

SETUP = """
a = [t.tensor([0.5, 0.25]), t.tensor([[0.75], [0.125]])]
b = [t.tensor([2.0, 3.0]), t.tensor([[4.0], [5.0]])]
two = t.tensor(2.0)
"""

UNARY = "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log"
UNARY += " log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan"
UNARY += " tanh trunc"

LINES = """
t._foreach_clone(a)
t._foreach_zero_(a) is a, a
t._foreach_copy_(a, b), a
t._foreach_norm(a)
t._foreach_norm(a, float("inf"), t.float64)
t._foreach_powsum(a, 3)
t._foreach_addcmul(a, b, b, two)
t._foreach_addcmul(a, b, b, scalars=two)
t._foreach_addcmul(a, b, b, t.tensor([[1, 2], [3, 4]])[:, 1])
t._foreach_addcmul(a, b, b, scalars=t.tensor([2.0, 3.0]))
t._foreach_addcdiv(a, b, b, two)
t._foreach_addcdiv(a, b, b, scalars=two)
t._foreach_addcdiv(a, b, b, t.tensor([[1, 2], [3, 4]])[:, 1])
t._foreach_addcdiv(a, b, b, scalars=t.tensor([2.0, 3.0]))
t._foreach_max(a)
t._foreach_max([t.ones(0)])
t._foreach_mm(a[1:], [t.ones(1, 2)])
t._foreach_pow(2.0, a)
t._foreach_pow(a, [2, 3])
t._foreach_add(a, 1)
t._foreach_add(a, [1, 2])
t._foreach_add(a, b, alpha=2)
t._foreach_add(a, two, alpha=3)
t._foreach_sub(a, b, alpha=2)
t._foreach_mul(a, two)
t._foreach_div(a, two)
t._foreach_maximum(a, 0.4)
t._foreach_minimum_(a, [0.4, 0.3]), a
t._foreach_clamp_min(a, b)
t._foreach_minimum([t.ones(2, 3).cfloat()], [t.ones(2, 4).cfloat()])
t._foreach_addcmul(a, b, b, 0.5)
t._foreach_addcmul(a, b, b, value=0.5)
t._foreach_addcmul_(a, b, b, [0.5, 2.0]), a
t._foreach_addcdiv(a, b, b, t.tensor([1.0, 2.0]))
t._foreach_addcdiv(a, b, b, t.tensor([1.0, 2.0, 3.0]))
t._foreach_lerp(a, b, 0.5)
t._foreach_lerp_(a, b, b), a
t._foreach_lerp(a, b, [0.5, 0.25])
t._foreach_lerp(a, b, [0.5])
t._foreach_exp(3)
t._foreach_exp(two)
t._foreach_exp([])
t._foreach_add(a, b[:1])
t._foreach_add(a, t.ones(2))
t._foreach_mul(a, [1, 2, 3])
t._foreach_sqrt_([t.ones(2, requires_grad=True)])
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_lists_of_tensors(line: str):
    check_line(line, SETUP)


@pytest.mark.parametrize("name", UNARY.split())
def test_one_list(name: str):
    check_line(f"t._foreach_{name}(a)", SETUP)
    check_line(f"t._foreach_{name}_(a) is a; a", SETUP)


def test_gradients_reach_every_tensor_of_the_list():
    def program(t: Any) -> Any:
        a = [t.ones(2, requires_grad=True), t.full((3,), 2.0, requires_grad=True)]
        scaled = t._foreach_mul(t._foreach_exp(a), [2.0, 3.0])
        sum(each.sum() for each in scaled).backward()
        return [each.grad for each in a]

    assert_same(program)
