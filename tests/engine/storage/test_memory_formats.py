"""Memory formats: which order of elements tensors are asked for, keep and suggest."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line

SETUP = """
cl, cl3 = t.channels_last, t.channels_last_3d
cf, pf = t.contiguous_format, t.preserve_format
x = t.randn(2, 3, 4, 5)
y = x.contiguous(memory_format=cl)
n = x[:, :, ::2]
"""

ASKED = """
{x}.contiguous(memory_format={f}).stride()
{x}.is_contiguous(memory_format={f})
{x}.clone(memory_format={f}).stride()
{x}.to(memory_format={f}).stride()
{x}.to(t.float64, memory_format={f}).stride()
{x}.double(memory_format={f}).stride()
x = {x}; x.float(memory_format={f}) is x
{x}.cpu(memory_format={f}).stride()
t.empty({x}.shape, memory_format={f}).stride()
t.empty_like({x}, memory_format={f}).stride()
t.zeros_like({x}, memory_format={f}).stride()
t.full_like({x}, 3, memory_format={f}).stride()
t.randn_like({x}, memory_format={f})
t.zeros(1).resize_({x}.shape, memory_format={f}).stride()
t.zeros(1).resize_as_({x}, memory_format={f}).stride()
"""
TENSORS = (
    "t.randn(2, 3, 4)",
    "t.randn(2, 3, 4, 5)",
    "t.randn(2, 3, 2, 2, 3)",
    "t.randn(2, 4, 5, 3).permute(0, 3, 1, 2)",
)
FORMATS = ("cl", "cl3", "cf", "pf")

KEPT = """
y.contiguous().stride()
y.contiguous(memory_format=cl) is y
y.to(memory_format=cl) is y
y.to(memory_format=cf).stride()
y.to(memory_format=pf) is y
n.contiguous(memory_format=pf)
n.to(memory_format=cf) is n
n.to(t.float64, memory_format=cf).stride()
(x.requires_grad_() * 1).contiguous(memory_format=cl).grad_fn
t.randn(2, 1, 4, 5).contiguous(memory_format=cl).stride()
t.randn(2, 1, 4, 5).clone(memory_format=cl).stride()
t.randn(2, 1, 4, 5).is_contiguous(memory_format=cl)
t.randn(2, 3, 1, 1).is_contiguous(memory_format=cl)
t.randn(2, 3, 1, 1).contiguous(memory_format=cl).stride()
t.randn(2, 3, 1, 1).to(memory_format=cl).stride()
t.randn(0, 3, 4, 4).is_contiguous(memory_format=cl)
t.empty(0, 3, 4, 4, memory_format=cl).stride()
t.empty_like(y).stride()
t.zeros_like(n, memory_format=cf).stride()
y.double(memory_format=cf).stride()
t.zeros(2, 3, 4, 5).resize_as_(y, memory_format=pf).stride()
t.zeros(1).resize_as_(y).stride()
t.nn.Conv2d(3, 2, 3).to(memory_format=cl).weight.stride()
t.nn.Linear(3, 2).to(memory_format=cl).weight.stride()
x.contiguous(memory_format=3)
x.contiguous(memory_format=None)
x.is_contiguous(memory_format=3)
x.clone(memory_format=3)
x.to(memory_format=3)
t.empty(2, memory_format=3)
"""

ORDERS = """
x.dim_order()
y.dim_order()
n.dim_order()
x.permute(1, 0, 3, 2).dim_order()
t.randn(2, 1, 3, 1).dim_order()
x[0].expand(4, 3, 4, 5).dim_order()
x.dim_order(ambiguity_check=True)
n.dim_order(ambiguity_check=[cf, cl])
n.dim_order(ambiguity_check=[])
t.empty(2, 1, 4, 5).dim_order(ambiguity_check=True)
t.empty(2, 1, 4, 5).dim_order(ambiguity_check=[cf, cl])
t.empty(2, 1, 4, 5).dim_order(ambiguity_check=[cf])
t.empty(1, 3).dim_order(ambiguity_check=True)
t.empty(2, 2).expand(3, 2, 2).dim_order(ambiguity_check=True)
t.empty(()).dim_order(ambiguity_check=True)
t.empty(0, 3).dim_order(ambiguity_check=True)
t.empty(2, 1, 3).dim_order(ambiguity_check=[cf])
t.empty(2, 3, 5, 1).to(memory_format=cl).dim_order(ambiguity_check=[cf, cl])
t.empty(4).expand(3, 4).dim_order(ambiguity_check=True)
x.dim_order(ambiguity_check='x')
x.dim_order(ambiguity_check=[3])
"""

ARGUMENTS = """
x.to() is x
x.to(None) is x
x.to(3)
x.to([])
x.to(t.float64, 'cpu')
x.to('cpu', t.float64, True, True, 4)
x.to(foo=3)
x.to('cpu', foo=3)
x.to(x, t.float64)
x.to(None, t.float64).dtype
x.to(tensor=t.ones(1).double()).dtype
x.to(other=t.ones(1).double()).dtype
x.to(complex).dtype
x.to(str)
x.to(t.float64, non_blocking=3)
x.to(t.float64, copy=None)
x.to(x, copy=True) is x
x.to('cpu', t.float64, dtype=t.float32)
t.nn.Linear(2, 3).to('cpu', True)
t.nn.Linear(2, 3).to(t.float64, True).weight.dtype
t.nn.Linear(2, 3).to(t.ones(1), True).weight.dtype
t.nn.Linear(2, 3).to('cpu', t.float64, True, True)
t.nn.Linear(2, 3).to(foo=3)
t.nn.Linear(2, 3).to(dtype=t.int32)
t.nn.Linear(2, 3).to(memory_format=3)
t._C._nn._parse_to('cpu', t.float64, True, memory_format=cl)[1:]
t._C._nn._parse_to(t.ones(1), True)[1:]
t._C._nn._parse_to(device='cpu', copy=True)
"""


@pytest.mark.parametrize("line", ASKED.strip().splitlines())
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("tensor", TENSORS)
def test_a_format_that_is_asked_for(line: str, form: str, tensor: str) -> None:
    check_line(line.format(x=tensor, f=form), SETUP)


@pytest.mark.parametrize("line", KEPT.strip().splitlines())
def test_a_format_is_kept_or_given_up(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", ORDERS.strip().splitlines())
def test_the_order_of_dimensions(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", ARGUMENTS.strip().splitlines())
def test_arguments_of_to(line: str) -> None:
    check_line(line, SETUP)
