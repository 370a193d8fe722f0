"""Writes in place: values, versions, history, refusals."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line
from ..oracle import assert_same

SETUP = """
x = t.arange(60.0).view(3, 4, 5).clone().requires_grad_()
m = t.ones(3, 4).bool()
m[0, 1] = False
i = t.tensor([0, 2])
z = t.tensor(1.0, requires_grad=True)
v = t.arange(3.0)
"""

SETUP_2 = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
v = t.arange(3.0)
i = t.tensor([0, 2])
"""

WRITES = """
t.where(t.ones(2,2) > 0, t.ones(2,2), t.ones(3))
t.addcmul(t.ones(2,2), t.ones(2,2), t.ones(3))
t.ones(2,2).addcmul_(t.ones(2,2), t.ones(3))
z.fill_(v)
z.as_strided_((2,), (1,))
x.index_put_((i,), t.ones(7))
x[i]=t.ones(7)
z.lerp_(z, t.ones((), dtype=t.float64))
z.bitwise_and_(1)
t.ones(2,2,dtype=t.complex64).expand(2)
t.ones(2,2,dtype=t.bfloat16).expand(2)
y=x.clone(); y[m]=t.tensor(2.5, dtype=t.float64); y
y=x.clone(); w=z.double(); y[m]=w; t.autograd.grad(y.sum(),w)
y=x.clone(); y[:, t.tensor([True,False,False,True])]=t.tensor(2); y
y=x.clone(); y.index_put_((m,), t.tensor(2)); y
x.index_put((m,), t.tensor(2))
x.clone().index_put_((m,), t.tensor(2), True)
x.clone().index_put_((m,), t.tensor([2]*55))
x.detach().index_put_((m,), t.tensor(1j))
k=i.clone(); k[i>0]=t.tensor(2.7); k
y=x.clone(); y.copysign_(-1); y
y=x.clone(); y.copysign_(-x); y
y=t.zeros(1,3); y[:,1:]=x[0,0,1:3]*2; y
y=x.clone(); y.copy_(v); y
y=x.clone(); r=y.copy_(v); r is y
y=x.clone(); y.copy_(x[:2]); y
x.copy_(v)
x.detach().copy_(t.zeros(7))
x.detach().copy_(t.zeros(1,3,4))
v.copy_(t.zeros(3,3))
v.copy_(3)
i.copy_(t.tensor([1.7,float('nan')]))
y=x.clone(); y.fill_(3); y
y=x.clone(); y.fill_(z); y
v.fill_(t.zeros(2))
i.fill_(2.7)
i.fill_(1j)
y=x.clone(); y.zero_(); y
x.zero_()
x[0].zero_()
x.detach().zero_()
y=x.clone(); y[0]=1; y
y=x.clone(); y[0]=z; y
y=x.clone(); y[:]=1; y
y=x.clone(); y[...]=v.expand(5) if False else 2.; y
y=x.clone(); y[:,1:3]=t.ones(2,5); y
y=x.clone(); y[i]=5; y
y=x.clone(); y[i]=t.ones(4,5); y
y=x.clone(); y[i]=t.ones(3,5); y
y=x.clone(); y[:,i]=x[:,i]*2; y
y=x.clone(); y[m]=0; y
y=x.clone(); y[y>5]=z; y
y=x.clone(); y[0,i]=1; y
y=x.clone(); y[None]=1; y
y=x.clone(); y[()]=1; y
y=x.clone(); y[True]=1; y
y=x.clone(); y[0]=t.ones(1,1,4,5); y
y=x.clone(); y[0]=t.ones(2,4,5); y
y=x.clone(); y[0]=t.ones(3); y
y=x.clone(); y[i]=t.ones(1,1,2,4,5); y
y=x.clone(); y[0]=[[1,2,3,4,5]]*4; y
y=x.clone(); y[0,0]=np.arange(5.); y
y=x.clone(); y[0]='a'; y
y=x.clone(); y[0]=None; y
y=x.clone(); y[0]=1j; y
y=x.clone(); y[5]=1; y
y=x.clone(); y[i]=i; y
y=x.clone(); y[i,0,0]=t.tensor([1,2]); y
i[0]=2.7; i
i[:]=t.tensor([1.9,2.9]); i
b=v>0; b[0]=3; b
x[0]=1
y=x.view(60); y[0]=1
y=x.detach(); y[0]=1; (y._version,x._version)
y=x.clone(); w=y.view(60); y[0]=1; (w,y)
y=x.clone(); w=y.view(60); w[0]=1; (w,y)
y=x.clone(); w=y[0]; u=y[1]; w.mul_(2); (w,u,y)
y=x.clone(); w=y.split(1)[0]; w.mul_(2)
y=x.clone(); w=y.unbind()[0]; w[0].mul_(2)
y=x.clone(); w=y.expand(3,4,5); w.mul_(2); y
y=x[:1].clone().expand(3,4,5); y.mul_(2)
y=x.clone(); y.index_put_((i,),t.ones(4,5)); y
y=x.clone(); y.index_put_((i,i),t.ones(5),accumulate=True); y
y=x.clone(); y.index_put_((t.tensor([0,0]),),t.ones(2,4,5),True); y
y=x.clone(); y.index_put_((m,),t.tensor(1.)); y
y=x.clone(); y.index_put_((i,),t.ones(4,5).long())
y=x.clone(); y.masked_fill_(m[...,None],2.); y
y=x.clone(); y.masked_fill_(m[...,None],z); y
v.masked_fill_(t.ones(2,3).bool(),1.)
y=x.clone(); y.masked_scatter_(x>3,t.arange(60.).requires_grad_()); y
x.scatter(0,t.zeros(1,4,5).long(),t.ones(1,4,5,requires_grad=True)*2)
y=x.clone(); y.scatter_(0,t.zeros(1,4,5).long(),t.ones(1,4,5)); y
y=x.clone(); y.scatter_add_(0,t.zeros(2,4,5).long(),t.ones(2,4,5)); y
x.scatter_add(0,t.zeros(2,4,5).long(),t.ones(2,4,5,requires_grad=True))
x.index_add(0,i,t.ones(2,4,5,requires_grad=True),alpha=2)
y=x.clone(); y.index_add_(0,i,t.ones(2,4,5)); y
x.index_copy(0,i,t.ones(2,4,5,requires_grad=True))
x.put(t.tensor([0,0]),t.tensor([1.,2.],requires_grad=True),accumulate=True)
y=x.clone(); y.put_(t.tensor([0]),t.tensor([1.])); y
x.resize_(2)
v.resize_(2)
v.resize_(5).shape
v.resize_(2,2).shape
v.resize_as_(t.zeros(2))
y=x.clone(); y.data; y.data
y=x.clone(); y.data=t.ones(2); y
y=t.ones(3,requires_grad=True); y.data=t.ones(2); y
y=t.ones(3,requires_grad=True); y.data.mul_(2); y
y=v.detach(); y.add_(1); (y,v)
y=x.clone(); y.detach_(); y
y=x.clone().requires_grad_(False)
x.detach().requires_grad_()
i.requires_grad_()
t.zeros(3,out=t.ones(2))
"""

MORE = """
y=t.zeros(3,3); y.fill_diagonal_(5); y
y=t.zeros(7,3); y.fill_diagonal_(5,wrap=True); y
y=x*1; y.fill_diagonal_(5); y
y=v.clone(); y.apply_(lambda a: a*2); y
t.zero_(v)
"""


@pytest.mark.parametrize("line", WRITES.strip().splitlines())
def test_writes(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", MORE.strip().splitlines())
def test_more_writes(line: str) -> None:
    check_line(line, SETUP_2)


REFUSED_FIRST = """
t.zeros(2).addcmul_('a',t.ones(2))
t.zeros(2).addcdiv_(t.ones(2),'x')
t.zeros(2).mul_('a')
t.zeros(2).lt_('a')
t.ones(2,dtype=t.int64).gcd_(1.5)
t.zeros(3).put_(t.tensor([9]),1.0)
t.zeros(2,dtype=t.int64).bitwise_and_(1.5)
t.ones(2,dtype=t.int64).bitwise_left_shift_(t.tensor([1.5,2]))
t.ones(2,dtype=t.int64).gcd_(t.ones(2))
t.zeros(2,1).ge_(t.ones(2,2,dtype=t.complex64))
t.ones(2,requires_grad=True).logical_and_(t.ones(2))
t.ones(2,requires_grad=True)[:1].logical_not_()
t.ones(2,requires_grad=True).eq_(2)
t.ones(2,requires_grad=True).bitwise_not_()
t.zeros(2,requires_grad=True).addmm_(t.ones(2,3),t.ones(3,2))
t.ones(2).addr_(t.ones(2),t.ones(2))
t.zeros(2,dtype=t.int64).fill_(t.ones((),requires_grad=True)).requires_grad
t.zeros(2,dtype=t.int64).copy_(t.ones(2,requires_grad=True)).requires_grad
t.sum(t.ones(2,3),0,out=t.ones(2))._version
t.add(t.ones(2,3).t(),1,out=t.ones(2))._version
t.arange(3,out=t.ones(5))._version
"""


@pytest.mark.parametrize("line", REFUSED_FIRST.strip().splitlines())
def test_what_a_write_looks_at_first(line: str) -> None:
    check_line(line)


VERSIONS = """
y.add_(1); y._version
y.fill_(2); y._version
y.zero_(); y._version
y.copy_(y.detach().clone()); y._version
y[0] = 1; y._version
y[0][1] = 1; y._version
y[t.tensor([0])] = 1; y._version
y[y > 0] = 1; y._version
y.masked_fill_(y > 0, 1.0); y._version
y.index_put_((t.tensor([0]),), t.ones(4)); y._version
y.uniform_(); y._version
y.t_(); y._version
y.view(12).add_(1); y._version
y.detach().add_(1); y._version
y.data.add_(1); y._version
y.requires_grad_(); y._version
y.resize_(2, 2); y._version
"""


@pytest.mark.parametrize("line", VERSIONS.strip().splitlines())
def test_versions(line: str) -> None:
    check_line(line, "y = t.ones(3, 4)")


def test_a_write_through_a_list_of_views_keeps_the_rest() -> None:
    def program(t):
        x = t.arange(1.0, 7.0).view(2, 3).clone().requires_grad_()
        y = x * 1
        y[0, 1:] = y[1, :2] * 2
        (y * y).sum().backward()
        return y, x.grad

    assert_same(program)


def test_out_may_grow_though_it_requires_grad():
    def program(t):
        leaf = t.ones(2, requires_grad=True)
        with t.no_grad():
            t.add(t.ones(2, 2), 1, out=leaf)
        leaf.sum().backward()
        return leaf, leaf.grad

    assert_same(program)


def test_product_of_one_number_is_a_copy():
    def program(t):
        x = t.tensor(2.0, requires_grad=True)
        return t.autograd.grad(x.prod(), x, create_graph=True)

    assert_same(program)
