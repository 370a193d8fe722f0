"""Operators where dtypes, numbers and small values meet, next to PyTorch's."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line

HALVES = "x=t.linspace(-3,3,288).to(t.{kind})"
WITH_NUMBERS = """
x*0.3
x*t.tensor(-1.7)
0.3*x
x/0.3
x/t.tensor(-1.7)
0.3/x
t.tensor(0.3)/x
x.clone().mul_(0.3)
x.clone().div_(-1.7)
x//0.3
x%0.3
x+0.3
x-1.7
t.add(x,x*3,alpha=0.3)
t.sub(x,x*3,alpha=0.3)
x.clone().add_(x,alpha=-0.3)
t.nn.functional.hardshrink(x,0.3)
t.tensor(0.3,dtype=x.dtype)*0.7
t.tensor(0.3,dtype=x.dtype)/0.7
"""

BY_NAME = """
add radd sub rsub mul rmul truediv rtruediv div idiv pow rpow ipow mod rmod floordiv
rfloordiv matmul rmatmul and rand lshift rlshift rshift rrshift eq lt iadd
"""

LINES = """
x=t.tensor([1e-19+1e-18j,-1e-20+1j,1e-5+0j,-1,-2,3+4j],dtype=t.complex128);t.view_as_real(t.log1p(x)).tolist()
t.view_as_real(t.log1p(t.tensor([1e-9+1e-8j,1e-5+0j,3+4j,-0.1-0.2j]))).tolist()
t.nn.functional.threshold(t.arange(5,dtype=t.uint8),-9,3)
t.nn.functional.threshold(t.arange(5,dtype=t.uint8),2,-9)
t.nn.functional.threshold(t.arange(5),1.5,7.5)
t.renorm(t.ones(2,3),2,1,t.tensor(0.5))
t.ones(2,3).renorm_(2,1,t.tensor(0.5))
t.addr(t.ones(2,2,dtype=t.int16),t.ones(2,dtype=t.int16),t.ones(2,dtype=t.int16),beta=2.)
t.addr(t.ones(2,2,dtype=t.int16),t.ones(2,dtype=t.int16),t.ones(2,dtype=t.int16),alpha=2.)
t.addr(t.ones(2,2,dtype=t.int16),t.ones(2,dtype=t.float64),t.ones(2,dtype=t.int16))
t.addr(t.ones(2,2),t.ones(2,dtype=t.float64),t.ones(2),beta=2,alpha=3)
t.addr(t.ones(2,2),t.ones(2),t.ones(2),beta=1j)
t.addr(t.ones(2,2,dtype=t.cfloat),t.ones(2),t.ones(2),alpha=1j)
t.addr(t.ones(2,2,dtype=t.bool),t.ones(2,dtype=t.bool),t.ones(2,dtype=t.bool))
t.baddbmm(t.ones(1,2,2,dtype=t.int),t.ones(1,2,2),t.ones(1,2,2))
t.addbmm(t.ones(2,2,dtype=t.int),t.ones(1,2,2),t.ones(1,2,2))
"""


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("line", WITH_NUMBERS.strip().splitlines())
def test_16_bit_floats_meet_numbers_as_in_pytorch(line: str, kind: str) -> None:
    check_line(f"{HALVES.format(kind=kind)};({line}).tolist()")


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_odd_operands_give_what_pytorch_gives(line: str) -> None:
    check_line(line)


WITH_TENSOR_NUMBERS = """
t.addcmul(x,x,x,value=h)
x.clone().addcmul_(x,x,value=h)
t.addcdiv(x,x,x,value=h)
t.add(x,x,alpha=h)
x.clone().sub_(x,alpha=h)
t.addmm(t.ones(2,2),x,x.T,beta=h,alpha=h)
t.nn.functional.leaky_relu(x,h)
t.nn.functional.elu(x,h)
t.nn.functional.softplus(x,h,20)
t.nn.functional.hardshrink(x,h)
t.nn.functional.huber_loss(x,x*0,delta=h)
t.nn.functional.cross_entropy(x,t.tensor([0,1]),label_smoothing=h)
t.logit(x,h)
t.dist(x,x*2,h)
t.var(x,0,correction=h)
t.tril(x,i)
t.rot90(x,i)
t.polygamma(i,x)
x.index_add(0,t.tensor([0]),x[:1],alpha=h)
t.trapezoid(x,dx=h)
y=x.clone().requires_grad_();t.add(y,y,alpha=h).mul(y).sum().backward();y.grad
y=x.clone().requires_grad_();t.nn.functional.elu(y,h).sum().backward();y.grad
"""
TENSOR_NUMBERS = """
h=t.tensor(0.5)
i=t.tensor(1)
x=t.tensor([[0.2,0.7,-0.4],[1.5,-2.,0.1]])
"""


@pytest.mark.parametrize("line", WITH_TENSOR_NUMBERS.strip().splitlines())
def test_a_tensor_may_stand_for_a_number(line: str) -> None:
    check_line(line, TENSOR_NUMBERS)


@pytest.mark.parametrize(
    "operands", ["3,t.tensor([1,2])", "2.5,t.ones(2)", "'a',t.ones(2)"]
)
@pytest.mark.parametrize("name", BY_NAME.split())
def test_operators_called_by_name_take_what_pytorchs_take(name: str, operands: str):
    check_line(f"t.Tensor.__{name}__({operands})")
