"""Which memory format results have, after the format of what they were made of."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line

SETUP = """
F = t.nn.functional
cl, cl3 = t.channels_last, t.channels_last_3d
x = t.randn(2, 3, 4, 5)
y = x.contiguous(memory_format=cl)
z = t.randn(2, 3, 4, 4, 4).contiguous(memory_format=cl3)
def g(f, *args):
    a = y.clone().requires_grad_()
    out = f(a, *args)
    own = t.autograd.grad(out, a, t.ones_like(out).contiguous())[0].stride()
    out = f(a, *args)
    order = cl if out.dim() == 4 else t.contiguous_format
    grad = t.ones_like(out, memory_format=order)
    return own, t.autograd.grad(out, a, grad)[0].stride()
"""

RESULTS = """
t.nn.Conv2d(3,2,3).to(memory_format=cl)(x).stride()
t.nn.Conv2d(3,2,3)(y).stride()
t.nn.Conv2d(3,2,3,bias=False)(y).stride()
t.nn.Conv2d(3,3,3,groups=3)(y).stride()
t.nn.Conv2d(3,2,1)(y).stride()
t.nn.Conv2d(3,2,(4,5))(y).stride()
t.nn.Conv2d(3,2,3)(y[0]).stride()
t.nn.ConvTranspose2d(3,2,3)(y).stride()
F.max_pool2d(y,2).stride()
F.max_pool2d(y,2,return_indices=True)[1].stride()
F.avg_pool2d(y,2).stride()
F.adaptive_avg_pool2d(y,2).stride()
F.adaptive_max_pool2d(y,2).stride()
F.adaptive_max_pool2d(y,2,return_indices=True)[1].stride()
F.fractional_max_pool2d(y,2,2).stride()
F.lp_pool2d(y,2,2).stride()
F.max_unpool2d(y,t.arange(60).reshape(1,3,4,5).expand(2,3,4,5)%20,2).stride()
F.max_unpool2d(y,(t.arange(60).reshape(1,3,4,5).expand(2,3,4,5)%20).contiguous(memory_format=cl),2).stride()
t.nn.BatchNorm2d(3)(y).stride()
t.nn.BatchNorm2d(3).eval()(y).stride()
t.nn.BatchNorm2d(2)(t.arange(6.).reshape(1,3,2,1).permute(0,2,1,3)).stride()
t.nn.BatchNorm2d(3)(t.arange(6.).reshape(2,1,1,3).permute(0,3,1,2)).stride()
t.nn.BatchNorm3d(3)(t.arange(6.).reshape(1,2,1,3,1).permute(0,3,1,2,4)).stride()
t.nn.GroupNorm(1,3)(y).stride()
t.nn.InstanceNorm2d(3)(y).stride()
t.nn.LayerNorm(5)(y).stride()
t.nn.LocalResponseNorm(2)(y).stride()
F.normalize(y).stride()
F.interpolate(y,scale_factor=2).stride()
F.interpolate(y,scale_factor=2,mode='nearest-exact').stride()
F.interpolate(y,scale_factor=2,mode='bilinear').stride()
F.interpolate(y,scale_factor=2,mode='bilinear',antialias=True).stride()
F.interpolate(y,scale_factor=2,mode='bicubic').stride()
F.interpolate(y,scale_factor=2,mode='area').stride()
F.channel_shuffle(y,3).stride()
F.pad(y,(1,1,1,1),mode='reflect').stride()
F.pad(y,(1,1,1,1),mode='replicate').stride()
F.pad(y,(1,1,1,1)).stride()
F.pad(y,(1,1)).stride()
F.dropout(y).stride()
F.dropout2d(y).stride()
F.alpha_dropout(y).stride()
F.softmax(y,1).stride()
F.log_softmax(y,1).stride()
F.gelu(y).stride()
F.silu(y).stride()
F.elu(y).stride()
F.hardswish(y).stride()
F.softplus(y).stride()
F.logsigmoid(y).stride()
F.prelu(y,t.ones(3)).stride()
F.threshold(y,0,0).stride()
F.unfold(y,2).stride()
F.grid_sample(y,t.zeros(2,3,3,2)).stride()
F.cosine_similarity(y,x).stride()
F.binary_cross_entropy_with_logits(y,x.sigmoid(),reduction='none').stride()
t.cat([y,y],1).stride()
t.cat([y,y],0).stride()
t.cat([y,y],-1).stride()
t.cat([y,x],1).stride()
t.cat([x,y],1).stride()
t.cat([y.permute(1,0,2,3)]*2,1).stride()
t.cat([y[:,:,0]]*2).stride()
t.cat([x.permute(3,2,1,0)]*2).stride()
t.stack([y,y],0).stride()
t.stack([y,y],1).stride()
t.stack([y,y],4).stride()
t.stack([y,x],1).stride()
t.hstack([y,y]).stride()
(y+x).stride()
(x+y).stride()
y.sum(1,keepdim=True).stride()
y.sum(1).stride()
y.sum((2,3),keepdim=True).stride()
y.mean((2,3),keepdim=True).stride()
y.amax(1).stride()
y.max(1)[0].stride()
y.max(1)[1].stride()
y.argmax(1).stride()
y.std(1).stride()
y.norm(dim=1).stride()
y.prod(1).stride()
y.any(1).stride()
y.logsumexp(1).stride()
y.median(1)[0].stride()
y.cumsum(1).stride()
y.cumprod(1).stride()
y.logcumsumexp(1).stride()
y.cummax(1)[0].stride()
y.flip(1).stride()
y.flip(0,3).stride()
y.roll(1,1).stride()
y.roll(1).stride()
y.rot90(1,(2,3)).stride()
y.sort(1)[0].stride()
y.argsort(1).stride()
y.topk(2,1)[0].stride()
t.where(y>0,y,y).stride()
t.where(y>0,y,0.).stride()
y.repeat(1,1,1,1).stride()
y.repeat_interleave(2,1).stride()
y.tile(2).stride()
y.clamp(0,1).stride()
y.clamp_min(0).stride()
y.masked_fill(y>0,1).stride()
y.tril().stride()
y.gather(1,t.zeros(2,3,4,5).long()).stride()
y.index_select(1,t.tensor([0,2])).stride()
y[:,[0,2]].stride()
y[[0,1]].stride()
y[:,:,[0,2]].stride()
y[y>0].stride()
y.take_along_dim(t.zeros(2,3,4,5).long(),1).stride()
y.scatter(1,t.zeros(2,3,4,5).long(),0).stride()
y.index_add(1,t.tensor([0]),x[:,:1]).stride()
y.index_fill(1,t.tensor([0]),0).stride()
y.index_copy(1,t.tensor([0]),x[:,:1]).stride()
y.round().stride()
y.to(t.int32).stride()
(y>0).stride()
y.logical_not().stride()
y.nan_to_num().stride()
y.lerp(x,0.5).stride()
t.addcmul(y,x,x).stride()
t.addcmul(x,y,y).stride()
y.pow(2).stride()
(2**y).stride()
y.fmod(2).stride()
y.sign().stride()
y.matmul(x.mT).stride()
(y@t.randn(5,6)).stride()
t.normal(y,1.).stride()
y.diff(dim=1).stride()
y.unfold(2,2,1).contiguous().stride()
y.reshape(2,-1).stride()
y.flatten(2).stride()
y.permute(0,2,3,1).clone().stride()
y.detach().clone().stride()
y.renorm(2,0,1.).stride()
y.cross(x,1).stride()
y.trapezoid(dim=1).stride()
t.einsum('nchw->nhwc',y).stride()
t.nn.Conv3d(3,2,3)(z).stride()
t.nn.ConvTranspose3d(3,2,3)(z).stride()
F.max_pool3d(z,2).stride()
F.avg_pool3d(z,2).stride()
F.adaptive_avg_pool3d(z,2).stride()
F.adaptive_max_pool3d(z,2).stride()
t.nn.BatchNorm3d(3)(z).stride()
t.nn.GroupNorm(1,3)(z).stride()
F.interpolate(z,scale_factor=2).stride()
F.interpolate(z,scale_factor=2,mode='trilinear').stride()
F.pad(z,(1,1,1,1)).stride()
F.pad(z,(1,)*6,mode='replicate').stride()
F.pad(z,(1,)*6,mode='reflect').stride()
F.dropout3d(z).stride()
t.cat([z,z],1).stride()
m=t.nn.Conv2d(3,2,3).to(memory_format=cl);m(y).sum().backward();m.weight.grad.stride()
m=t.nn.Conv2d(3,2,3);m(y).sum().backward();m.weight.grad.stride()
"""

GRADIENTS = """
g(t.nn.Conv2d(3,2,3))
g(t.nn.ConvTranspose2d(3,2,3))
g(lambda a: F.max_pool2d(a,2))
g(lambda a: F.avg_pool2d(a,2))
g(lambda a: F.adaptive_avg_pool2d(a,2))
g(t.nn.BatchNorm2d(3))
g(t.nn.GroupNorm(1,3))
g(t.nn.RMSNorm(5))
g(t.nn.RMSNorm((4,5),elementwise_affine=False))
g(F.relu)
g(F.leaky_relu)
g(t.erf)
g(lambda a: a*x*y)
g(lambda a: a*a.mean((2,3),keepdim=True))
g(lambda a: a.exp()+a.sum(1,True))
g(lambda a: x/a-a.mT.mT.sin())
g(F.softmax)
g(F.interpolate,2)
g(F.pad,(1,1,1,1))
g(lambda a: t.cat([a,a],1))
g(lambda a: a.sum(1))
g(lambda a: a.flip(1))
g(lambda a: a.cumsum(1))
g(lambda a: a*2)
g(lambda a: a.contiguous())
"""

ORDERS = """
def grads(layer, given, inner):
    order = dict(rows=list(range(4)), channels=[0, 2, 3, 1], columns=[3, 2, 1, 0])
    def laid(kind):
        if kind == "one": return t.ones(()).expand(2, 3, 4, 5)
        places = order[kind]
        made = t.ones([(2, 3, 4, 5)[d] for d in places])
        return made.permute([places.index(d) for d in range(4)])
    a = laid(given).detach().requires_grad_()
    b = laid(inner).detach().requires_grad_()
    return [[g.stride() for g in t.autograd.grad(layer(a, b), (a, b), laid(kind))]
            for kind in ("rows", "channels", "columns", "one")]
def norm(a, b):
    return t.nn.functional.rms_norm(a, (4, 5), b[0, 0])
"""

GRADIENTS_IN_ORDERS = """
grads(norm, 'rows', 'rows')
grads(norm, 'channels', 'rows')
grads(norm, 'channels', 'columns')
grads(norm, 'columns', 'channels')
grads(norm, 'one', 'columns')
grads(t.mul, 'channels', 'rows')
grads(t.mul, 'columns', 'channels')
grads(t.hypot, 'columns', 'rows')
grads(lambda a, b: a * b + a.sin() * b.sum((2, 3), True), 'channels', 'columns')
"""

MATRICES = """
def of(f, again=False):
    t.manual_seed(0)
    a = t.randn(5, 5, dtype=t.float64, requires_grad=True)
    out = f(a)
    ones = t.ones_like(out)
    return t.autograd.grad(out, a, ones, create_graph=again)[0].stride()
F = t.nn.functional
"""

GRADIENTS_OF_MATRICES = """
of(lambda x: x.to(t.complex128))
of(lambda x: x * t.ones(5, 5, dtype=t.complex128))
of(lambda x: t.fft.fft(x, 7, 0))
of(lambda x: t.fft.ifft2(x, (3, 7)))
of(lambda x: t.fft.irfft(x, 7, 0))
of(lambda x: t.fft.hfft2(x, (3, 7)))
of(lambda x: F.pad(x, (1, -2), value=1.0))
F.pad(t.randn(1, 6), (-1, -2)).stride()
of(lambda x: t.linalg.pinv(x), True)
of(lambda x: t.linalg.pinv(x[:3]))
of(lambda x: t.linalg.pinv(x[:, :3]))
"""


@pytest.mark.parametrize("line", RESULTS.strip().splitlines())
def test_results_lie_as_their_operands_suggest(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", GRADIENTS.strip().splitlines())
def test_gradients_lie_as_the_inputs_suggest(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", GRADIENTS_IN_ORDERS.strip().splitlines())
def test_gradients_lie_as_the_first_that_tells_dimensions_apart(line: str) -> None:
    check_line(line, ORDERS)


@pytest.mark.parametrize("line", GRADIENTS_OF_MATRICES.strip().splitlines())
def test_gradients_lie_as_their_formulas_leave_them(line: str) -> None:
    check_line(line, MATRICES)


GAPS = (
    "t.ones(1,1,4,12)[:,:,:,::2]",
    "t.ones(2,3,8)[:,:,::2]",
    "t.ones(4,3,2).as_strided((4,3,2),(6,1,1))",
    "t.ones(4,1,2).expand(4,3,2)",
)


@pytest.mark.parametrize("maker", GAPS)
@pytest.mark.parametrize("call", ["x.exp()", "x+x", "x*2", "x==x"])
def test_operands_with_gaps_keep_the_order_of_their_dimensions(maker: str, call: str):
    """Dimensions of size 1 have a place among the others too, with ``out=`` as well."""
    orders = f"w={maker};from itertools import permutations as all"
    check_line(
        f"{orders};[({call}).stride() for p in all(range(w.dim())) "
        "for x in [w.permute(p)]]"
    )
    check_line(
        f"{orders};[t.exp(w.permute(p),out=t.empty(0)).stride() "
        "for p in all(range(w.dim()))]"
    )


ACTIVATIONS = "elu selu celu gelu mish silu softplus hardtanh relu6 leaky_relu"
ACTIVATIONS += " hardshrink hardsigmoid hardswish softshrink"


@pytest.mark.parametrize("maker", GAPS)
@pytest.mark.parametrize("name", ACTIVATIONS.split())
def test_activations_keep_the_order_of_dimensions(maker: str, name: str):
    check_line(
        f"w={maker};from itertools import permutations as all;"
        f"[t.nn.functional.{name}(w.permute(p)).stride() for p in all(range(w.dim()))]"
    )


@pytest.mark.parametrize("shape", ["1,4", "2,1,4", "2,4,1,1", "2,3,4"])
def test_glu_keeps_the_order_of_dimensions_and_its_gradient_does_not(shape: str):
    check_line(
        f"from itertools import permutations as all;w=t.ones({shape});"
        "xs=[w.permute(p).clone().requires_grad_() for p in all(range(w.dim()))];"
        "ys=[(x,t.nn.functional.glu(x,d)) for x in xs for d in range(x.dim()) "
        "if x.shape[d]%2==0];"
        "[(y.stride(),t.autograd.grad(y.sum(),x)[0].stride()) for x,y in ys]"
    )


@pytest.mark.parametrize("kind", ["channels_last", "contiguous_format"])
@pytest.mark.parametrize("call", ["x*5", "x+5", "x+t.ones(3,1,1)", "x.exp()", "x+x"])
def test_numbers_keep_strides_of_dimensions_of_size_one(call: str, kind: str):
    check_line(f"x=t.rand(10,3,1,1).to(memory_format=t.{kind});({call}).stride()")
