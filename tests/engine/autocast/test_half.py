"""Functions of 16-bit floats, NaN and infinity among them, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtape

from .._engines import needs_torch

CALLS = """
x.sort(1)[0]
x.sort(1)[1]
x.topk(2,1)[0]
x.median()
x.nanmedian()
x.median(1)[1]
x.kthvalue(2,1)[0]
x.max()
x.max(1)
x.min(1)
x.amax(1)
x.amin((1,2))
x.aminmax()
x.argmax()
x.argmin(1)
x.cummax(1)
x.cummin(1)
x.cumsum(1)
x.cumprod(1)
x.logcumsumexp(1)
F.max_pool2d(x,2)
F.max_pool2d(x,2,return_indices=True)
F.max_pool1d(x[0],2)
F.max_pool3d(x,2)
F.avg_pool2d(x,2)
F.adaptive_max_pool2d(x,2)
F.adaptive_avg_pool2d(x,2)
F.lp_pool2d(x,2,2)
x//2
x//y
x%2
x%y
x.fmod(y)
x.remainder(2)
x.round()
x.round(decimals=1)
x.floor()
x.trunc()
x.frac()
x.ceil()
x**2
x**0.5
2**x
x**y
x.float_power(2)
x.pow(3)
x.rsqrt()
x.reciprocal()
x.sigmoid()
x.tanh()
x.isclose(x)
x.isclose(x,equal_nan=True)
x.isnan()
x.isinf()
x.isfinite()
x.isposinf()
x.nan_to_num()
x.clamp(-1,1)
x.clamp(min=y)
x.maximum(y)
x.minimum(y)
x.fmax(y)
x.fmin(y)
x.nansum()
x.nanmean()
x.sum()
x.sum(1)
x.mean()
x.mean(1)
x.prod(1)
x.std(1)
x.var(1)
x.norm()
x.norm(1)
x.norm(inf)
x.norm(dim=1)
x.logsumexp(1)
x.softmax(1)
x.log_softmax(1)
x.unique()
x.unique(return_counts=True)
t.unique_consecutive(x)
x.count_nonzero()
x.nonzero()
x.any()
x.all()
x.histc(4,-2,2)
t.bucketize(x,t.tensor([0.,1.]).to(x.dtype))
t.searchsorted(t.tensor([0.,1.]).to(x.dtype),x)
x.sign()
x.sgn()
x.abs()
x.neg()
x.hypot(y)
x.atan2(y)
x.exp()
x.expm1()
x.log1p()
x.log()
x.erf()
x.erfinv()
x.lgamma()
x.digamma()
x.sinc()
x.logit()
x.logaddexp(y)
x.xlogy(y)
x.lerp(y,0.3)
t.addcmul(x,y,y,value=0.3)
t.addcdiv(x,y,y+1,value=0.3)
x.frexp()
x.ldexp(t.tensor(2))
x.heaviside(y)
x.nextafter(y)
x.where(x>0,y)
x.masked_fill(x>0,2)
x.index_reduce(1,t.tensor([0,1,0]),y,'amax')
x.index_reduce(1,t.tensor([0,1,0]),y,'amin',include_self=False)
x.index_reduce(1,t.tensor([0,1,0]),y,'mean')
x.index_reduce(1,t.tensor([0,1,0]),y,'prod')
x.scatter_reduce(1,i,y,'amax')
x.scatter_reduce(1,i,y,'amin',include_self=False)
x.scatter_reduce(1,i,y,'mean')
x.scatter_reduce(1,i,y,'sum')
x.index_add(1,t.tensor([0,1,0]),y)
x.scatter_add(1,i,y)
x.quantile(0.5)
x.matmul(y)
x.flatten(1)@y.flatten(1).T
t.einsum('abcd,abce->abde',x,y)
t.bmm(x[0],y[0])
t.addmm(x[0,0],x[0,0],y[0,0])
t.baddbmm(x[0],x[0],y[0])
t.dot(x[0,0,0],y[0,0,0])
t.mv(x[0,0],y[0,0,0])
F.linear(x,y[0,0])
F.conv2d(x,y[:,:,:2,:2])
F.conv1d(x[0],y[0,:,:2][:, :3].repeat(1,1,1))
F.relu(x)
F.silu(x)
F.mish(x)
F.elu(x)
F.selu(x)
F.celu(x)
F.softplus(x)
F.softsign(x)
F.hardtanh(x)
F.hardswish(x)
F.hardsigmoid(x)
F.leaky_relu(x)
F.logsigmoid(x)
F.tanhshrink(x)
F.softshrink(x)
F.hardshrink(x)
F.threshold(x,0,1)
F.prelu(x,y[0,:,0,0])
F.glu(x,-1)
F.layer_norm(x,(4,))
F.group_norm(x,3)
F.batch_norm(x,None,None,training=True)
F.instance_norm(x)
F.rms_norm(x,(4,))
F.normalize(x)
F.mse_loss(x,y)
F.l1_loss(x,y)
F.smooth_l1_loss(x,y)
F.huber_loss(x,y)
F.binary_cross_entropy_with_logits(x,y.sigmoid())
F.binary_cross_entropy(x.sigmoid(),y.sigmoid())
F.kl_div(x,y,reduction='batchmean')
F.cross_entropy(x[0,0],t.tensor([0,1,2,3]))
F.nll_loss(x[0,0],t.tensor([0,1,2,3]))
F.soft_margin_loss(x,y.sign())
F.margin_ranking_loss(x,y,y.sign())
F.cosine_similarity(x,y)
F.pairwise_distance(x[0,0],y[0,0])
F.hinge_embedding_loss(x,y.sign())
F.poisson_nll_loss(x,y)
F.gaussian_nll_loss(x,y,y.abs())
F.interpolate(x,scale_factor=2)
F.interpolate(x,scale_factor=2,mode='bilinear')
F.interpolate(x,scale_factor=2,mode='bicubic')
F.pad(x,(1,1))
F.pad(x,(1,1,1,1),mode='reflect')
F.unfold(x,2)
F.pixel_shuffle(x.reshape(2,12,2,2),2)
F.embedding(t.tensor([0,1]),x[0,0])
F.grid_sample(x,t.zeros(2,2,2,2).to(x.dtype),align_corners=False)
x.renorm(2,0,1)
x.tril()
x.diff()
t.trapezoid(x)
x.cross(y,1)
t.cat([x,y])
x.roll(1)
x.flip(1)
x.nan_to_num(0,0,0).to(t.int32)
x.nan_to_num(0,0,0).abs().to(t.uint8)
t.arange(0,2,0.3,dtype=x.dtype)
t.linspace(0,2,5,dtype=x.dtype)
t.full((2,),1.5,dtype=x.dtype)
t.tensor([1.5,nan],dtype=x.dtype)
x[0,0].cov()
x[0,0].corrcoef()
x.diag_embed()
t.sum(x,dtype=t.float64)
x.cumsum(0,dtype=t.float32)
t.logical_xor(x,y)
x.bool()
x.eq(y)
x.lt(y)
x.ne(1)
t.combinations(x[0,0,0])
t.cartesian_prod(x[0,0,0],y[0,0,0])
t.special.expit(x)
t.special.log_ndtr(x)
t.special.i0(x)
t.special.entr(x)
t.special.zeta(x,y)
t.special.bessel_j0(x)
t.igamma(x.abs(),y.abs())
x.add(y,alpha=0.3)
x.sub(y,alpha=0.3)
x.add(1.3)
x.mul(0.3)
x.div(0.3)
1.3-x
0.3/x
x.cos()
x.tan()
x.asinh()
x.deg2rad()
x.square()
x.sqrt()
x.exp2()
x.log2()
x.log10()
x.dist(y)
x[0,0].trace()
x.mul(2).sum(1,keepdim=True)
"""
STEPS = {"bfloat16": 2e-2, "float16": 3e-3}
"""How far results may lie apart: two or three steps of the type."""


def _operand(t: Any, dtype: str, nan_at: int) -> Any:
    t.manual_seed(0)
    numbers = t.randn(2, 3, 4, 4) * 2
    numbers.view(-1)[nan_at] = float("nan")
    numbers.view(-1)[7] = float("inf")
    return numbers.to(getattr(t, dtype))


def _results(t: Any, call: str, dtype: str) -> list[tuple[str, Any]]:
    scope = {
        "t": t,
        "F": t.nn.functional,
        "x": _operand(t, dtype, 3),
        "y": _operand(t, dtype, 1).flip(0),
        "i": t.arange(96).reshape(2, 3, 4, 4) % 3,
        "inf": float("inf"),
        "nan": float("nan"),
    }
    try:
        found = eval(call, scope)
    except (NotImplementedError, RuntimeError) as error:
        return [(type(error).__name__, str(error))]
    several = found if isinstance(found, tuple) else (found,)
    return [(str(each.dtype), each.double().numpy()) for each in several]


@needs_torch
@pytest.mark.parametrize("call", CALLS.strip().splitlines())
@pytest.mark.parametrize("dtype", STEPS)
def test_half_precision_is_pytorchs(call: str, dtype: str) -> None:
    import torch

    ours, theirs = _results(gradtape, call, dtype), _results(torch, call, dtype)
    assert [kind for kind, _ in ours] == [kind for kind, _ in theirs]
    for (_, mine), (_, wanted) in zip(ours, theirs, strict=True):
        if isinstance(mine, str):
            assert mine == wanted
        else:
            step = STEPS[dtype]
            np.testing.assert_allclose(mine, wanted, rtol=step, atol=step)


def test_adaptive_means_keep_nan_in_its_cell() -> None:
    image = gradtape.zeros(1, 1, 4, 4)
    image[0, 0, 0, 0] = float("nan")
    found = gradtape.nn.functional.adaptive_avg_pool2d(image, 2)
    assert found.isnan().sum() == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_16_bits_is_rounded_once(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    outcomes: list[Any] = []
    for t in (gradtape, torch):
        x = t.arange(80.0).sin().mul(3).reshape(10, 8)
        wide = x.to(getattr(t, dtype))
        leaf = wide.clone().requires_grad_()
        found = getattr(leaf, name)(-1)
        found.backward(wide)
        outcomes.append([found.detach().float().tolist(), leaf.grad.float().tolist()])
    ours, theirs = (np.asarray(each) for each in outcomes)
    steps = np.abs(ours - theirs) / np.spacing(np.abs(theirs).astype(np.float16))
    unit = 8 if dtype == "bfloat16" else 1  # bfloat16 has three bits less
    assert steps[0].max() <= unit
    assert np.median(steps) == 0
