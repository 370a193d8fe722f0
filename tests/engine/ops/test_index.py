"""``x[…]``, gathering and scattering: values, views or copies, refusals."""

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

READS = """
x[m]
x[m,0:2]
x[m,None]
x[m,0]
x[0:2,i]
x[0,i]
x[i,0]
x[i,:,i]
x[:,i]
x[:,i,i]
x[:,:,i]
x[...,i]
x[None,i]
x[i,None]
x[i,None,i]
x[[0,1]]
x[[0,1],[1,2]]
x[[[0,1],[1,2]]]
x[[slice(None),0]]
x[[i,i]]
x[(i,i)]
x[True]
x[False]
x[True,0]
x[t.tensor(True)]
x[t.tensor(1)]
x[np.array([0,1])]
x[np.int64(1)]
x[np.array(1)]
x[1.0]
x['a']
x[3]
x[-4]
x[0,0,0,0]
x[...,...]
x[0,...,...]
x[::0]
x[::-1]
x[5:]
x[2:1]
x[-100:100]
x[:,:,1:5:2]
z[0]
z[None]
z[...]
z[()]
z[True]
z[:]
z[i]
x[()]
x[None,None]
x[i.float()]
x[t.tensor([5])]
x[t.tensor([-4])]
x[t.ones(4).bool()]
x[t.ones(3,3).bool()]
x[[True,False,True]]
x[[]]
x[t.tensor([])]
x[t.tensor([],dtype=t.int64)]
x[i,t.tensor([0,1,2])]
x[i[:,None],t.tensor([0,1,2])]
x[slice(None,t.tensor(2))]
x[:t.tensor(2)]
x[1:2.5]
x[range(2)]
x[(0,)]
x[0][None]
x[{}]
x[i.int()]
x[i.short()]
x[t.tensor([[0,1],[1,0]])]
x[:,t.tensor([[0,1],[1,0]]),0]
v[v>0]
v[[0,2]]
x[x>0]
x[m,m]
x[:,m[0]]
x[..., None]
x[0:1,...,None]
x[...,0]
x.transpose(0,2)[:,i]
x.transpose(0,2)[i]
x.permute(1,2,0)[i,:,i[:,None]]
x.permute(2,0,1)[:,i]
x.permute(2,0,1)[:,i,i]
x.permute(2,0,1)[i[:,None],i]
x.permute(2,0,1)[i[:,None],:,i]
x[:,::2,::2][i]
x[:,::2,::2][:,i[:1]]
x.transpose(0,1)[x.transpose(0,1)>5]
x[:1].expand(3,4,5)[i]
x[:1].expand(3,4,5)[:,i]
x[::2].t() if False else x.mT[i,i]
x.expand(2)
"""

PLACES = """
x.index_put((i,),t.ones(7))
x.masked_fill(m[...,None],z)
x.masked_fill(m,z)
x.masked_fill(i,1.)
v.masked_fill(t.ones(2,3).bool(),1.)
x.masked_fill(x>3,v)
x.masked_select(x>3)
x.masked_select(m[...,None])
x.masked_select(i)
x.masked_select(m)
x.masked_scatter(x>3,t.arange(60.))
x.masked_scatter(x>3,t.arange(3.))
x.masked_scatter(x>3,t.arange(60))
x.gather(0,t.zeros(1,4,5).long())
x.gather(2,t.tensor([[[0,4]]]))
x.gather(2,t.tensor([[0,4]]))
x.gather(2,t.tensor([[[0,5]]]))
x.gather(2,t.tensor([[[0,-1]]]))
x.gather(3,t.tensor([[[0,4]]]))
x.gather(0,t.zeros(1,5,5).long())
x.gather(0,t.zeros(1,4,5))
x.gather(0,t.zeros(1,4,5).int())
z.gather(0,t.tensor(0))
z.gather(0,t.tensor([0,0]))
v.gather(0,t.tensor(1))
x.scatter(0,t.zeros(1,4,5).long(),t.ones(1,4,5))
x.scatter(0,t.zeros(1,4,5).long(),3)
x.scatter(0,t.zeros(1,4,5).long(),t.ones(1,4,4))
x.scatter(0,t.zeros(1,4,6).long(),t.ones(1,4,6))
x.scatter(0,t.zeros(1,4,5).long(),t.ones(1,4,5).double())
x.scatter(0,t.zeros(1,4,5).long()+7,t.ones(1,4,5))
x.scatter(0,t.zeros(4,5).long(),t.ones(4,5))
v.scatter(0,t.tensor([0,0]),t.tensor([1.,2.]),reduce='multiply')
v.scatter_reduce(0,t.tensor([0,0]),t.tensor([1.,2.]),'amax')
v.scatter_reduce(0,t.tensor([0,0]),t.tensor([1.,2.]),'mean',include_self=False)
v.scatter_reduce(0,t.tensor([0,0]),t.tensor([1.,2.]),'foo')
x.index_select(0,i)
x.index_select(1,i)
x.index_select(0,i.int())
x.index_select(0,t.tensor(1))
x.index_select(0,t.tensor([5]))
x.index_select(0,t.tensor([-1]))
x.index_select(0,t.tensor([[0]]))
x.index_select(0,v)
z.index_select(0,t.tensor([0]))
x.transpose(0,2).index_select(0,i)
x.index_add(0,i,t.ones(2,4,5))
x.index_add(0,i,t.ones(3,4,5))
x.index_add(0,i,t.ones(2,4,5).double())
x.index_add(0,t.tensor([0,9]),t.ones(2,4,5))
x.index_add(0,t.tensor([0,0]),t.ones(2,4,5))
x.index_copy(0,i,t.ones(2,4,5).double())
x.index_copy(0,t.tensor([0,9]),t.ones(2,4,5))
x.index_fill(0,i,3)
x.index_fill(0,i,z)
x.index_fill(0,t.tensor([-1]),3)
x.index_fill(0,t.tensor([5]),3)
x.index_fill(0,i,v)
x.take(t.tensor([0,59]))
x.take(t.tensor([[0,-1]]))
x.take(t.tensor([60]))
x.take(v)
x.put(t.tensor([0,59]),t.tensor([1.,2.]))
t.take_along_dim(x,t.zeros(1,4,1).long(),2)
t.take_along_dim(x,t.tensor([3]))
x.nonzero()
x.nonzero(as_tuple=True)
z.nonzero()
z.nonzero(as_tuple=True)
t.argwhere(v)
v.argwhere()
"""


@pytest.mark.parametrize("line", READS.strip().splitlines())
def test_reading_by_index(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", PLACES.strip().splitlines())
def test_gathering_and_scattering(line: str) -> None:
    check_line(line, SETUP)


def test_indexing_differentiates_twice() -> None:
    def program(t):
        x = t.arange(1.0, 7.0).view(2, 3).clone().requires_grad_()
        picked = x[t.tensor([0, 0, 1]), t.tensor([1, 1, 2])]
        (first,) = t.autograd.grad((picked**3).sum(), x, create_graph=True)
        (second,) = t.autograd.grad((first * first).sum(), x)
        return first, second

    assert_same(program)
