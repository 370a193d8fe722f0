"""Answers at the edges: odd arguments, refusals, rarely used functions."""

from __future__ import annotations

import pytest

import gradtape

from ..nn.lines import check_line

NUMBERS = """
t.isclose(t.ones(2),t.ones(2),t.tensor(1.5),t.tensor(1.,requires_grad=True))
t.isclose(t.ones(2),t.ones(2),t.tensor([1.5,2]),1)
t.isclose(t.ones(2),t.ones(2),'a',1)
t.zeros(2,5,256)[1::2,1:,::2].view(t.float32).stride()
x=t.ones(2,requires_grad=True);y=x.view(t.float32);(y.requires_grad,y._is_view())
x=t.ones(2);x.view(t.float32).mul_(2);(x,x._version)
t.isclose(t.tensor([True,False]),t.tensor([True,True]),rtol=0.01)
t.isclose(t.tensor([1,2]),t.tensor([1,3]),rtol=t.tensor(1),atol=t.tensor(1))
t.isclose(t.tensor([1,200],dtype=t.uint8),t.tensor([2,199],dtype=t.uint8),rtol=0,atol=1)
t.isclose(t.tensor([2**53+1]),t.tensor([2**53]),atol=0.5,rtol=0)
x=t.zeros(7,3);x.fill_diagonal_(1,wrap=True);(x,x._version)
x=t.zeros(4,3);x.fill_diagonal_(1,wrap=True);(x,x._version)
x=t.zeros(5,3);x.fill_diagonal_(1,wrap=True);(x,x._version)
x=t.zeros(5,3).t();x.fill_diagonal_(1,wrap=True);(x,x._version)
x=t.zeros(3,7).t();x.fill_diagonal_(1,wrap=True);(x,x._version)
t.empty(1).cauchy_(float('inf'),0.5)
t.empty(2).apply_(lambda k:'str')
t.normal(t.zeros(120),t.ones(2,3,4,5))
t.normal(t.zeros(2,3),t.ones(3)).shape
t.normal(t.zeros(6),t.ones(2,3))
t.ones((np.array(3.),t.tensor(4)))
t.ones((t.tensor(3.),t.tensor(4)))
t.ones((3.,t.tensor(4)))
t.ones(t.tensor(3),t.tensor(3)).shape
t.empty(4,dtype=t.int16).bernoulli_(t.rand(4)).dtype
t.empty(4,dtype=t.int16).bernoulli_(0.5).dtype
t.bernoulli(t.rand(4),out=t.empty(4,dtype=t.int16)).dtype
t.bernoulli(t.rand(4),out=t.empty(4,dtype=t.bool)).dtype
t.bernoulli(t.rand(4),out=t.empty(4,dtype=t.float64)).dtype
t.bernoulli(t.rand(4,dtype=t.float64),out=t.empty(4)).dtype
t.grid_sampler(t.rand(1,2,3,3),t.rand(2,2,2,2),0,0,False)
t.grid_sampler_2d(t.rand(1,2,3,3),t.rand(2,2,2,2),0,0,False)
t.grid_sampler_3d(t.rand(1,2,3,3,3),t.rand(2,2,2,2,3),0,0,False)
t.grid_sampler_2d(t.rand(1,2,3,3),t.rand(1,2,2,3),0,0,False)
t.grid_sampler_2d(t.rand(1,2,3,3,3),t.rand(1,2,2,2),0,0,False)
x=t.rand(3);x.__lshift__(1)
t.zeros(2,2,2).t()
t.diff(t.zeros(2,2),prepend=t.zeros(2))
t.diff(t.zeros(2,2),append=t.zeros(3,2))
t.diff(t.zeros(2,2),prepend=t.zeros(3,2))
t.diff(t.tensor(1.))
t.cumsum(t.zeros(2,dtype=t.int16),0,out=t.zeros(2))
t.cummax(t.zeros(2),0,out=(t.zeros(2,dtype=t.int16),t.zeros(2,dtype=t.int64)))
t.cummax(t.zeros(2),0,out=(t.zeros(2),t.zeros(2)))
t._utils._element_size(t.float32),t._utils._element_size(t.bool),t._utils._element_size(t.complex64)
"""

LIMITS = """
inf=float('inf');t.special.zeta(t.tensor([0.5,1.,1.5,2.,inf]),t.tensor(inf))
inf=float('inf');t.special.zeta(2,t.tensor([inf,1.,-inf],dtype=t.float64))
inf=float('inf');t.special.zeta(t.tensor([1.,2.]),inf)
inf=float('inf');t.tensor([0j,inf,1,2j])**t.zeros(4,dtype=t.complex64)
t.tensor([0j,1+1j],dtype=t.complex128)**0
t.tensor([0j,1+1j])**t.tensor([2,0])
x=t.tensor([-2.,.5],dtype=t.float64,requires_grad=True);g=t.autograd.grad(t.nn.functional.hardsigmoid(x).sum(),x)[0];g.tolist()==[float(np.float32(1/6))]*2
"""

INDICES = """
t.tensor(1.0).index_fill(0,t.tensor([],dtype=t.int64),5.0)
t.tensor(1.0).index_copy(0,t.tensor([],dtype=t.int64),t.tensor([]))
t.tensor([1.0,2]).index_copy(0,t.tensor([0,1]),t.tensor(6.0))
t.zeros(3,2).index_copy_(0,t.tensor([0,1]),t.ones(2,3))
t.zeros(3,2,4,5).index_copy_(1,t.tensor([0,1]),t.ones(2,2,3,6))
t.zeros(3,2).index_copy_(0,t.tensor([0,1]),t.ones(2))
t.zeros(3,2).index_copy_(0,t.tensor([0.0,7]),t.ones(2,3,dtype=t.int64))
t.zeros(3,2).index_copy_(0,t.tensor([0,1],dtype=t.int32),t.ones(2,2))
t.zeros(3,2).index_copy_(0,t.tensor([[0]]),t.ones(1,2))
t.zeros(3,0).index_copy_(0,t.tensor([5]),t.ones(1,0))
t.zeros(3).index_fill_(0,t.tensor([1.0]),1)
t.zeros(3).index_fill_(0,t.tensor([[1]]),1)
t.zeros(3,0).index_fill_(0,t.tensor([5]),1)
t.zeros(3).index_fill_(0,t.tensor([1]),t.tensor(1j))
t.zeros(3).index_add_(0,t.tensor([1.0]),t.ones(1))
t.zeros(3).index_add_(0,t.tensor([[1]]),t.ones(1))
t.zeros(3).index_add_(0,t.tensor([7]),t.ones(1))
t.zeros(3,2,2).index_add_(1,t.tensor([7]),t.ones(3,1,2))
t.zeros(0,2).index_add_(0,t.tensor([1]),t.ones(1,2))
t.zeros(()).index_add_(0,t.tensor([0]),t.ones(1))
t.zeros(()).index_add_(0,t.tensor([0,0]),t.ones(()))
t.zeros(2,2).index_add_(1,t.tensor([0]),t.ones(()))
t.zeros(3).put_(t.tensor([0.0]),t.tensor([1]))
t.zeros(3).put_(t.tensor([9]),t.tensor([1,2]))
t.zeros(3).put_(t.tensor([9]),t.tensor([1.0,2]))
t.zeros(0).put_(t.tensor([0]),t.tensor([1.0]))
t.zeros(3).take(t.tensor([0.0]))
t.zeros(3,0).index_select(0,t.tensor([5]))
t.zeros(3,1,2).index_select(2,t.tensor([5]))
t.zeros(0).index_select(0,t.tensor([5]))
t.tensor(1.0).scatter_(0,t.tensor(0),t.arange(1.0,4))
t.tensor(1.0).scatter_add_(0,t.tensor(0),t.arange(1.0,4))
t.zeros(3,3).scatter_(0,t.zeros(3,3,dtype=t.int64),t.ones(3))
t.zeros(2).scatter_add_(0,t.zeros(2,dtype=t.int64),t.ones(()))
t.zeros(2,0).scatter_add_(2,t.zeros(2,0,dtype=t.int64),t.ones(2,0))
t.ones(2,3)[False,None].stride()
t.ones(2,3)[:,False,None].stride()
t.ones(4,1,3)[t.tensor([],dtype=t.int64)].stride()
t.ones(4,1)[t.tensor([],dtype=t.int64)].stride()
t.zeros(3,4).nonzero().stride()
t.zeros(()).argwhere().stride()
[x.stride() for x in t.zeros(3,4).nonzero(as_tuple=True)]
t.ones(2,3,4)[...,...,t.tensor([0])]
x=t.zeros(2);x[True]=t.tensor([1,2]);(x,x._version)
x=t.zeros(2);x[False]=1;x._version
x=t.zeros(2,requires_grad=True);x[False]=1;x
x=t.zeros(2);x[False]=1j
x=t.zeros(2,requires_grad=True);x[t.tensor([5])]=1
x=t.zeros(2);x.index_put_((t.tensor([5]),),x,accumulate=True)
x=t.ones(3);x.index_copy_(0,t.tensor([0]),x)
t.take_along_dim(t.zeros(2,3),t.zeros(2,3).long(),dim=-7)
x=t.randn(2,3,4).permute(2,0,1);t.add(x,x,out=t.empty(0)).stride()
x=t.randn(2,3,8)[:,:,::2].permute(1,2,0);t.exp(x,out=t.empty(0)).stride()
x=t.randn(2,3,4).permute(2,0,1);t.eq(x,x,out=t.empty(0,dtype=t.bool)).stride()
x=t.randn(2,3,4).permute(2,0,1);t.add(x,x,out=t.empty(4,2,3)).stride()
t.ones(()).index_select(0,t.tensor([0,0]))
t.ones(()).index_select(0,t.tensor([],dtype=t.long))
x=t.zeros(7,3,3)[:,1];x.fill_diagonal_(1,wrap=True);(x,x._version)
t.zeros(3,2,dtype=t.uint8).index_add(0,t.arange(3),t.ones(3,2,dtype=t.uint8),alpha=-1)
t.zeros(3,2,dtype=t.int8).index_add(0,t.arange(3),t.ones(3,2,dtype=t.int8),alpha=-1)
t.zeros(()).index_add(0,t.tensor([0]),t.ones(1,1,1))
t.zeros(3,2).index_add(0,t.tensor([0]),t.ones(1,3))
t.zeros(3,2).index_add(0,t.tensor([0]),t.ones(1))
t.zeros(3,2).index_fill(0,t.tensor([0]),1+1j)
t.zeros(3,2).index_fill(0,t.tensor([0]),1+0j)
t.zeros(3,2,dtype=t.int32).index_fill(0,t.tensor([0]),1+1j)
t.zeros(3,2,dtype=t.bool).index_fill(0,t.tensor([0]),1+1j)
t.zeros(3,2,dtype=t.int32).index_fill(0,t.tensor([0]),1.7)
t.tensor([1.,2.]).apply_(lambda k:k+1)
t.tensor([1,2]).apply_(lambda k:k+1.5)
t.tensor([1.,2.]).map_(t.tensor([3.,4.]),lambda a,b:a+b)
t.tensor([1.,2.]).map_(t.tensor([3,4]),lambda a,b:a+b)
t.tensor([1.,2.]).map_(3,lambda a,b:a+b)
t.tensor([1.,2.]).map_(t.tensor(3.),lambda a,b:a+b)
t.tensor([1.,2.]).map2_(t.tensor([3.,4.]),t.tensor([3.,4.]),lambda a,b,c:a+b*c)
t.tensor([1.,2.]).map_(t.tensor([3.,4.]),lambda a,b:'s')
t.tensor([1.,2.],requires_grad=True).map_(t.tensor([3.,4.]),lambda a,b:a)
t.tensor([1.,2.]).map_(t.tensor([3.,4.],requires_grad=True),lambda a,b:a)
t.tensor([1.,2.],requires_grad=True).apply_(lambda a:a)
t.tensor([1.]).new(size=(3,4)).shape
t.tensor([1.]).new(()).shape
t.tensor([1.]).new(t.tensor([2,3])).tolist()
t.tensor([1.]).new(3,4,device='cpu').shape
t.tensor([1.]).new(3.)
t.tensor([1.]).new([1,2])
t.tensor([1.]).new(np.array([1,2]))
t.ones(t.tensor([3,3]))
t.tensor([1]).type(t.Tensor).dtype
t.tensor([1]).type(float)
t.tensor([1]).type('torch.Tensor').dtype
t.zeros(0,3).index_select(0,t.tensor([0,1]))
t.zeros(2,3).index_select(1,t.tensor([0,5]))
t.zeros(2,3).index_select(0,t.tensor([-1]))
t.zeros(2,0).index_select(1,t.tensor([5]))
x=t.arange(3);x[:-1].__ilshift__(x[1:])
t.zeros(10,0)[:,[0,1]]
t.zeros(10,0)[[0],[1]]
t.index_put_(t.zeros(3),(t.tensor([1]),),t.tensor(2.))
t.take_along_dim(t.zeros(2,3),t.zeros(2,3,dtype=t.bool),dim=0)
t.take_along_dim(t.zeros(2,3),t.zeros(2,3),dim=0)
t.take_along_dim(t.zeros(2,3),t.zeros(2,3,dtype=t.int32),dim=0)
t.take_along_dim(t.zeros(2,3),t.zeros(2,3,dtype=t.int32))
t.unravel_index(t.tensor([3]),2.0)
t.unravel_index(t.tensor([3]),(2,2.0))
t.unravel_index(t.tensor([3]),(2,-2))
t.unravel_index(t.tensor([3]),())
t.unravel_index(t.tensor([],dtype=t.int64),(10,0,5))
t.unravel_index(t.tensor([3]),(10,0,5))
t.unravel_index(t.tensor([]),(2,2))
t.unravel_index(t.tensor([3.]),(2,2))
t.zeros(3,3).narrow(0,t.tensor(0.),1)
t.zeros(3,3).narrow(0,t.tensor([0]),1)
t.zeros(3,3).narrow(0,t.tensor(True),1)
t.zeros(3,3).narrow(0,t.tensor(1),1)
t.zeros(3,3).tensor_split(1.1)
t.zeros(3,3).tensor_split((1.1,2))
t.zeros(3,3).tensor_split(t.tensor(1.))
t.zeros(3,3).tensor_split(t.tensor([[1]]))
t.zeros(3,3).tensor_split(t.tensor(2))[0].shape
t.zeros(()).tensor_split(2)
t.zeros(3,3).tensor_split(0)
t.zeros(3,3).tensor_split(2,5)
"""

STORAGES = """
t.tensor([1.]).new(t.tensor([2.,3.]).storage()).tolist()
t.FloatStorage.from_buffer(bytearray([1,2,3,4]),'native').tolist()
t.FloatStorage.from_buffer(bytearray([1,2,3,4]),byte_order='big').tolist()
t.FloatStorage.from_buffer(bytearray([1,2,3,4,5]),'native').tolist()
t.ByteStorage.from_buffer(bytearray([1,2,3,4])).tolist()
t.IntStorage.from_buffer(bytearray([1,2,3,4,5,6,7,8]),'little',4).tolist()
t.IntStorage.from_buffer(bytearray([1,2,3,4,5,6,7,8]),'little',0,1).tolist()
t.FloatStorage.from_buffer(3)
t.FloatStorage.from_buffer(bytearray([1,2,3,4]),'foo')
t.FloatStorage.from_buffer(bytearray([1,2,3,4]))
t.ones(5).storage().resizable()
x=t.ones(5);x.numpy();x.storage().resizable()
t.ones(5).storage().__sizeof__()-t.ones(0).storage().__sizeof__()
t.ones(5).untyped_storage().__sizeof__()-t.ones(0).untyped_storage().__sizeof__()
"""

CHECKS = """
t._check(True)
t._check(False)
t._check(False,lambda:'abc')
t._check(1)
t._check_index(False,lambda:'m')
t._check_value(False,lambda:'m')
t._check_type(False,lambda:'m')
t._check_not_implemented(False,lambda:'m')
t._check_tensor_all(t.tensor([True,False]),lambda:'m')
t._check_tensor_all(t.tensor([1]))
t._check_with(IndexError,False,lambda:'m')
t._check(False,'abc')
t._assert_async(t.tensor([]))
inf=float('inf');t.cumprod(t.tensor([complex(inf,1),2,3j]),0)
inf=float('inf');t.cumprod(t.tensor([2,complex(1,inf),3j]),0)
inf=float('inf');t.cumprod(t.tensor([[1,complex(-inf,inf)],[2j,1]]).mT,-1)
inf=float('inf');t.cumprod(t.tensor(complex(inf,1)),0)
inf=float('inf');t.cumsum(t.tensor([complex(inf,1),2,complex(-inf,3)]),0)
t._assert_async(t.tensor([1,2]))
t._assert_async(t.tensor(0))
t._assert_async(t.tensor(1))
t._assert_async(t.tensor(0),'msg')
t._assert(False,'msg')
t._assert(t.tensor(False),'msg')
t._assert(True,'msg')
"""


@pytest.mark.parametrize("line", LIMITS.strip().splitlines())
def test_values_at_limits(line: str) -> None:
    check_line(line)


@pytest.mark.parametrize("line", NUMBERS.strip().splitlines())
def test_values_and_sizes(line: str) -> None:
    check_line(line)


@pytest.mark.parametrize("line", INDICES.strip().splitlines())
def test_places(line: str) -> None:
    check_line(line)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("line", STORAGES.strip().splitlines())
def test_storages(line: str) -> None:
    check_line(line)


@pytest.mark.parametrize("line", CHECKS.strip().splitlines())
def test_checks_that_programs_make(line: str) -> None:
    check_line(line)


def test_old_types_have_no_children() -> None:
    with pytest.raises(TypeError, match="is not an acceptable base type"):
        type("Child", (gradtape.FloatTensor,), {})


def test_byte_masks_warn_each_time() -> None:
    x, mask = gradtape.ones(2), gradtape.tensor([1, 0], dtype=gradtape.uint8)
    for _ in range(2):
        with pytest.warns(UserWarning, match="torch.uint8 is now deprecated") as said:
            x[mask]
        assert said[0].filename == __file__
