"""Views against PyTorch: random chains of views and writes, and what views promise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

import gradtape

from ..graph.chains import Step, chains, play, starts
from ..nn.lines import check_line


@settings(suppress_health_check=list(HealthCheck))
@given(starts, chains)
@example((), [("expand", 1, ((0, 2),)), ("zero_", 2, ())])
def test_chains_of_views_and_writes_are_as_in_pytorch(
    shape: tuple[int, ...], steps: list[Step]
) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = play(gradtape, shape, steps), play(torch, shape, steps)
    for mine, yours in zip(ours, theirs, strict=True):
        assert mine == yours or _both_refuse(mine, yours)


def _both_refuse(mine: Any, yours: Any) -> bool:
    """Tell whether both refuse a call that is wrong in two ways, each naming one."""
    told = [each for each in (mine, yours) if isinstance(each, tuple)]
    sentences = [str(each[2]) for each in told if len(each) == 3]
    return len(sentences) == 2 and any(
        words in said
        for said in sentences
        for words in ("modified inplace", "single memory location")
    )


SETUP = """
x = t.arange(60.0).view(3, 4, 5).clone().requires_grad_()
m = t.ones(3, 4).bool()
m[0, 1] = False
i = t.tensor([0, 2])
z = t.tensor(1.0, requires_grad=True)
v = t.arange(3.0)
"""

LINES = """
x.view(size=(60,))
x.view(size=[3,20])
v[:1].view()
m.broadcast_to(2,3,4)
m.broadcast_to(size=(2,3,4))
x.transpose(1,2)[0]
x.index_put((i,),t.zeros(4,5))
x.index_put((i,),t.zeros(4,5),accumulate=True)
x.index_put([i,None,i],t.tensor(1.))
x.select(0,5)
x.select(3,0)
z.select(0,0)
x.narrow(0,2,2)
x.narrow(0,-1,1)
x.narrow(0,0,-1)
x.narrow(0,4,1)
x.unfold(0,5,1)
x.unfold(0,1,0)
x.unfold(0,-1,1)
x.diagonal(5)
x.diagonal(0,1,1)
x.split(0)
x.split(-1)
x.split([1,1])
x.split([1,-1,3])
x.chunk(0)
z.chunk(1)
z.split(1)
z.unbind()
x.unflatten(1,(3,2))
x.unflatten(1,())
x.flatten(2,1)
z.flatten()
x.flatten(1,1)
x.view(7)
x.view(-1,7)
x.view(-1,-1)
x.view(-2,30)
x.transpose(0,1).view(60)
x.view()
t.zeros(0).view(-1,0)
x.reshape(7)
x.expand(3,4,6)
x.expand(-1,3,4,5)
x.expand(3,4,-5)
x.permute(0,1)
x.permute(0,1,1)
x.permute(0,1,3)
t.permute(x,dims=(2,1,0))
x.t()
x.mT
x.H
x.transpose(0,3)
x.unsqueeze(4)
x.unsqueeze(-5)
x.squeeze((0,0))
x.squeeze(3)
x.movedim((0,1),(1,))
x.movedim((0,0),(1,2))
x.tensor_split(2)
x.tensor_split((1,),1)
x.hsplit(3)
x.vsplit(2)
x.dsplit(5)
v.hsplit(3)
v.vsplit(1)
v.dsplit(1)
t.broadcast_tensors(x,t.zeros(7))
t.broadcast_shapes((2,),(3,))
x.broadcast_to((2,3,4,6))
x.as_strided((100,),(1,))
x.view(t.float64)
x.view(t.int16)
x.detach().view(t.int8)
x.detach().transpose(0,2).view(t.int8)
x.detach()[:,:,:3].view(t.float64)
"""

SMALL = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
v = t.arange(3.0)
i = t.tensor([0, 2])
"""

PLACES = """
y=x*1; y.t_(); y
y=x*1; y.transpose_(0,1); y
y=x*1; y.unsqueeze_(0); y
y=x*1; y.unsqueeze_(0).squeeze_(); y
y=x*1; y.unsqueeze_(0).squeeze_(0); y
y=x*1; y.as_strided_((2,2),(1,2),1); y
y=x*1; z=y[0]; z.unsqueeze_(0); z
y=x*1; z=y.view(12); y.t_(); (y,z)
y=x*1; y.t_(); (g,)=t.autograd.grad((y*y)[0].sum(),x); g
x.t_()
x.select_scatter(t.ones(4,requires_grad=True),0,1)
x.select_scatter(t.ones(5),0,1)
x.slice_scatter(t.ones(2,4,requires_grad=True),0,1,3)
x.slice_scatter(t.ones(1,4),0,1,3)
x.diagonal_scatter(t.ones(3,requires_grad=True))
x.trace()
i.view(1,2).trace()
v.trace()
t.autograd.grad(x.trace()*x.trace(),x)
x.sum_to_size(1,4)
x.sum_to_size(4)
x.sum_to_size(3,4)
x.sum_to_size(2,4)
t.complex(v,v)
t.complex(x,x)
v.reshape(3,1).repeat(1,2).tril_()
x.view(2,6)[:,1:3].is_contiguous()
reversed(v)
t.unflatten(x,1,(2,2))
t.block_diag(t.ones(2,2),t.zeros(1,3))
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_views(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", PLACES.strip().splitlines())
def test_views_in_place_and_copies(line: str) -> None:
    check_line(line, SMALL)
