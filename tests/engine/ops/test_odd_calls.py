"""Calls at the edge of what operators take: values and refusals next to PyTorch's."""

from __future__ import annotations

import pytest

import gradtape

from ..nn.lines import check_line

VALUES = """
t.tensor([],dtype=t.int64).remainder(0)
t.tensor([],dtype=t.int64)//0
t.tensor([],dtype=t.int64).fmod(t.tensor([0]))
t.tensor([],dtype=t.int64).median()
t.tensor([],dtype=t.int16).nanmedian()
len(repr(t.zeros(1).expand(10**12)))
t.ones(2).clamp(t.tensor(0.0),1)
t.ones(2).clamp(0,t.tensor(0.5))
t.tensor([True,False]).clamp(t.tensor([True,True]))
t.tensor([True,False]).clamp_(None,t.tensor([False,True]))
t.zeros(2).lerp(t.ones(2),t.tensor(1))
t.zeros(2).lerp(t.ones(2),t.tensor(0.5,dtype=t.float64,requires_grad=True))
t.tensor([2,3]).nansum(dtype=t.complex64)
t.tensor(True).cumprod_(0)
t.ones(1,2).as_strided((1,2),(1,1)).sort(0).values.stride()
t.ones(2,3).t()[:,:0].add(t.ones(3,1)).stride()
t.ones(4,0)[1:3].t().clone().stride()
t.ones(0,2,3).transpose(1,2).roll(2,0).stride()
t.isclose(t.ones(2,1),t.ones(1,3),equal_nan=True)._version
t.ones(5,2).quantile(t.tensor([0.3,0.2]),0)._version
t.addr(t.ones(2,2).bfloat16(),t.ones(2),t.ones(2)/3)
t.addr(t.ones(2,2).bfloat16(),t.ones(2).half(),t.ones(2).int())
t.sum(t.tensor([1.5,2.6]),0,out=t.zeros(0,dtype=t.int32))
t.prod(t.tensor([1.5,2.5]),0,out=t.zeros(0,dtype=t.int64))
t.sum(t.tensor([True,True]),0,out=t.zeros(0,dtype=t.bool))
t.sum(t.tensor([[1.5,2.5]]),[0,1],True,out=t.zeros(0,dtype=t.int16))
t.arange(1.0,5.000001,2.0,dtype=t.int64)
t.arange(1.0,5.000001,2.0,dtype=t.int32)
t.arange(5.9,1.1,-1.5,dtype=t.int64)
t.linspace(4.3,0,50,dtype=t.int64)
t.linspace(4.3,t.tensor(-3.7),7,dtype=t.int32)
t.logspace(2,1.2,2,dtype=t.int64)
t.logspace(4.3,1.2,4,2.0,dtype=t.uint8)
t.signal.windows.kaiser(128,beta=41.2,sym=False)[:3].isnan()
t.signal.windows.kaiser(9,beta=3.3)
t.ones((),dtype=t.int32).sum_to_size(()).dtype
t.ones(2,3,dtype=t.int32).sum_to_size(()).dtype
t.multinomial(t.ones(3,10),3).stride()
t.arange(90).view(9,5,2)[:1].expand(9,5,2).transpose(1,2).sqrt().stride()
t.ones(9,2,5,dtype=t.int64).transpose(1,2).div(t.ones(9,5,2,dtype=t.int64)).stride()
t.native_layer_norm(t.ones(2,3,dtype=t.half),[3],None,None,1e-5)[1].dtype
t.native_layer_norm(t.ones(2,3,dtype=t.half),[3],t.ones(3),None,1e-5)[1].dtype
t.logcumsumexp(t.arange(40.)*1.7-60,0).double().round(decimals=4)
y=t.zeros(0);t.cat([t.ones(2,3,4,2).to(memory_format=t.channels_last)],1,out=y);y.stride()
t._chunk_cat([t.ones(2,3)],0,2,out=t.zeros(0))
t.mvlgamma(t.tensor([float('inf'),float('-inf'),2.5]),3)
t.ones(5).diag(np.uint8(3)).shape
t.ones(4,4).tril(-np.int8(1))
t.linalg.lstsq(t.ones(0,3,2),t.ones(0,3,4),driver='gels').residuals.shape
t.linalg.lstsq(t.ones(0,3,2),t.ones(0,3),driver='gelsd').residuals.shape
t.linalg.lstsq(t.ones(0,3,2),t.ones(0,3,4)).residuals.shape
t.view_as_real(t.tensor([complex(t.inf),complex(t.inf)]).logcumsumexp(0))
t.view_as_real(t.tensor([complex('-inf+1j'),complex('-inf+2j'),1]).logcumsumexp(0))
t.view_as_real(t.tensor([complex('inf+1j'),complex('inf+1j'),2]).logcumsumexp(0))
a=t.tensor([t.inf,-t.inf,t.inf,t.nan,1])+0j;t.view_as_real(t.logaddexp(a,a*t.tensor([1,1,-1,1,1])))
a=t.tensor([complex('inf+1j'),complex('-inf+3j')]);t.view_as_real(t.logaddexp(a,a.conj()))
t.addmv_(t.ones(2),t.eye(2),t.ones(2),beta=2,alpha=3)
t.as_strided_(t.arange(4.),(2,),(2,),1)
t.i0_(t.ones(2))
t.tensor([True,False]).conj_physical_()
t.ldexp_(t.ones(2),t.tensor([1,2]))
t.embedding_renorm_(t.ones(3,2),t.tensor([0,2]),1.,2.)
t._compute_linear_combination(t.ones(3,2),t.ones(4,3),out=t.ones(4,2))
t._C._infer_size(t.Size((2,1)),t.Size((3,)))
x=t.ones(2,2);[t._C._is_alias_of(x,x[0]),t._C._is_alias_of(x,x.clone())]
t.empty(2,out=t.ones(2))
t.serialization._is_zipfile(__import__('io').BytesIO(b'PK'))
t.histogramdd(t.ones(5,0),1,density=True).hist
t.ones(2,out=t.zeros(2),requires_grad=True)
t.eye(2,out=t.zeros(0),requires_grad=True).is_leaf
t.ops.aten.reshape.default(self=t.ones(1,2),shape=[2])
[t.sym_max(2,1.5),t.sym_min(1,2),t.sym_int(2.7),t.sym_float(2),t.sym_sqrt(4)]
[t.sym_not(0),t.sym_ite(True,1,2),t.sym_sum([1,2]),t.sym_sum(1,2.5)]
[isinstance(2,t.SymInt),isinstance(2.0,t.SymFloat),isinstance(True,t.SymBool)]
t.nn.functional._canonical_mask(t.tensor([True,False]),'m',None,'',t.float32)
t.nn.functional._none_or_dtype(t.ones(1))
t.nn.functional._mha_shape_check(t.ones(2,3),t.ones(2,3),t.ones(2,3),None,None,1)
x=t.ones(2,3);t.nn.functional._in_projection_packed(x,x,x,t.ones(9,3),t.ones(9))
x=t.ones(2,3);w=t.ones(3,3);t.nn.functional._in_projection(x,x,x,w,w,w,None,t.ones(3))
t.nn.functional._Reduction.get_enum('sum')
[t._C._nn.pad(t.ones(2),(1,1),'constant',3.),t._C._nn.elu(t.ones(2),2.)]
[t._C._nn.hardtanh_(t.ones(2),-2,0.5),t._C._nn.leaky_relu(-t.ones(2),0.2)]
t._C._nn.adaptive_avg_pool2d(t.arange(8.).view(1,2,4),(1,2))
"""

REFUSED = """
t.zeros(2,dtype=t.uint8).fill_(-1.5)
t.zeros(2,dtype=t.uint8).fill_(-1)
t.ones(2).lt_(1+1j)
t.ones(3,requires_grad=True).sum(dtype=t.int64)
t.ones(3,requires_grad=True).prod(0,dtype=t.int32)
t.ones(3,requires_grad=True).cumsum(0,dtype=t.bool)
t.ones(3,requires_grad=True).mul(2).to(t.int64)
t.nan_to_num(t.ones(2,dtype=t.complex64,requires_grad=True))
t.kthvalue(t.tensor(1j,requires_grad=True),1)
t.tensor(1j,requires_grad=True).cummax(0)
t.tensor(1.0).unflatten(1,())
t.ones(2,dtype=t.complex64).max(0)
t.ones(2,dtype=t.complex64).min(1)
t.ones((),dtype=t.complex64).amax(1)
t.ones(2,dtype=t.int16).log_softmax(0)
t.ones(2).nansum(dtype=t.complex64)
t.ones(2,dtype=t.bool).cumsum_(0)
t.tensor(1.0).max(1)
t.tensor(1.0).repeat_interleave(2,0)
t.addmm(t.zeros(5,dtype=t.int64),t.ones(2,3,4),t.ones(3,2))
t.addmm(t.zeros(5),t.ones(2,3,4,dtype=t.float64),t.ones(2,3))
t.addmv(t.zeros(5),t.ones(2,3),t.ones(3,dtype=t.float64))
t.baddbmm(t.zeros(5),t.ones(2,3,4),t.ones(3,2))
t.baddbmm(t.zeros(5),t.ones(2,3,4),t.ones(3,2,2))
t.addbmm(t.zeros(5),t.ones(2,3,4),t.ones(3,2))
t.argwhere(3)
t.sym_max('a',1)
t.sym_ite(1,2,3)
t.sym_ite(True,2,3.0)
t.nn.functional._none_or_dtype(3)
t.nn.TransformerEncoderLayer(4,2)(t.ones(2,1,4),src_mask=3)
x=t.ones(2,3);w=t.ones(3,3);t.nn.functional._in_projection(x,x,x,w,w,w,t.ones(2))
t.linalg.pinv(t.eye(3),t.tensor(1j))
t.histogram(t.ones(2),t.ones(2,2))
t.histogram(t.ones(2),t.ones(2),range=(0,1))
t.histogram(t.ones(2),2.5)
t.histogram(t.ones(2),[1.0,2.0],range=(0,1))
t.histogram(t.ones(2),t.ones(0))
t.histogram(t.ones(2),t.ones(1))
t.histogramdd(t.ones(2,2),[t.ones(2),t.ones(())])
t.sum(t.tensor([1,2]),0,dtype=t.half,out=t.zeros(0,dtype=t.uint8))
t.prod(t.tensor([1,2]),0,dtype=t.int64,out=t.zeros(0,dtype=t.bool))
t.cartesian_prod(t.ones(2),t.ones(2,1))
t.cartesian_prod(t.ones(()))
t.tril_indices(2,-1)
t.ones(2, dtype=t.complex64).abs_()
t.nonzero_static(t.ones(2), size=2, out=t.empty(2, 1))
t.as_strided_scatter(t.zeros(4,4),t.zeros(2,2),[2,2],[200,200],5)
t.nn.functional.adaptive_avg_pool3d(t.zeros(1,1,1,1,1),(-1,0,2))
t.nn.functional.adaptive_avg_pool2d(t.zeros(1,1,1,1),(-1,0))
t.nn.functional.conv2d(t.zeros(1,1,4,3),t.zeros(1,2,2),padding='same')
t.nn.functional.conv1d(t.zeros(1,1,4),t.zeros(1,2),padding='same')
t.nn.functional.conv1d(t.zeros(1,1,4),t.zeros(1,1,2),dilation=-1)
t.nn.functional.conv1d(t.zeros(1,1,4),t.zeros(1,1,2),dilation=0)
t.nn.functional.conv2d(t.zeros(1,1,4,4),t.zeros(1,1,2,2),dilation=-1)
t.nn.functional.conv2d(t.zeros(1,1,4,4),t.zeros(1,1,2,2),dilation=0)
t.nn.functional.conv3d(t.zeros(1,1,4,4,4),t.zeros(1,1,2,2,2),dilation=0)
F=t.nn.functional;F.triplet_margin_with_distance_loss(t.zeros(3),t.zeros(3,4),t.zeros(3,4))
t.aminmax(t.zeros(5,0,5))
t.aminmax(t.zeros(5,0,5),dim=1)
t.nn.functional.prelu(t.tensor(1.),t.zeros(2))
t.narrow_copy(t.zeros(10,5,20),3,0,0)
t.narrow_copy(t.zeros(20,10,5),1,-11,0)
t.narrow_copy(t.zeros(20,10,5),1,0,11)
t.hsplit(t.zeros(5,5,5),'abc')
t.vsplit(t.zeros(5,5,5),1.5)
t.bitwise_and(2,3)
t.bitwise_left_shift(2,3)
t.linspace(0,3,1.0)
t.logspace(t.tensor(0),t.tensor(3),1.0)
t.linspace(t.zeros(2),t.zeros(2),1)
t.logspace(t.zeros(2),3,1)
t.nn.functional.multi_margin_loss(t.zeros(5,0),t.zeros(5))
t.nn.functional.multi_margin_loss(t.zeros(5,4),t.zeros(5),weight=t.zeros(5))
t.nn.functional.multilabel_margin_loss(t.zeros(5,4),t.zeros(4))
t.nn.functional.max_pool1d(t.zeros(3,3,3),1,1,0,0)
t.nn.functional.max_pool1d(t.zeros(3,3,3),1,0)
t.nn.functional.max_pool1d(t.zeros(3,3,3),1,1,2)
t.nn.functional.max_pool1d(t.zeros(3,3,3),2,1,2,return_indices=True)
t.nn.functional.max_pool1d(t.zeros(1,10,0),1)
t.nn.functional.max_pool1d(t.zeros(1,10,1),4)
t.masked_fill(t.zeros(2,dtype=t.int64),t.tensor(True),t.tensor(1+1j))
t.masked_scatter(t.zeros(1,3),t.zeros(1,3),t.zeros(3,4))
t._chunk_cat([t.zeros(2,3),t.zeros(4)],1,3)
t.nn.functional.rms_norm(t.zeros(2,2,3),(2,2))
t.nn.functional.layer_norm(t.zeros(2,2,3),(2,2))
t.native_layer_norm(t.zeros(2,3),[],None,None,1e-5)
t.native_layer_norm(t.zeros(2,3),[3],t.zeros(2),None,1e-5)
F=t.nn.functional;x=t.zeros(2,3);F.linear_cross_entropy(x,x,t.zeros(2),linear_bias=x[0])
t.multinomial(t.tensor([-1.,1.,1.]),2,True)
t.multinomial(t.tensor([float('inf'),1.,1.]),2,True)
t.multinomial(t.tensor([-1.,1.,1.]),2)
t.multinomial(t.ones(1,2),2,out=t.zeros(1,2))
t.nn.functional.soft_margin_loss(t.ones(5,4),t.ones(5))
t.scatter(t.ones(3,5),0,t.full((2,2),34),t.ones(2,5,2))
t.scatter_add(t.ones(3,5),0,t.full((2,2),34),t.ones(2,5,2))
x=t.ones(4,6);t.cat([t.zeros(0),x],out=x)
t.cat([t.ones(2)],out=t.zeros(2,dtype=t.int64))
t.stack([t.ones(2)],out=t.zeros(2,dtype=t.int64))
t.hstack([t.ones(2)],out=t.zeros(2,dtype=t.int64))
t.zeros(3,out=t.zeros(3,requires_grad=True))
t.full((3,),2.,out=t.zeros(3,requires_grad=True))
t.arange(3.,out=t.zeros(3,requires_grad=True))
t.linspace(0,1,3,out=t.zeros(3,requires_grad=True))
t.rand(3,out=t.zeros(3,requires_grad=True))
t.randn(3,out=t.zeros(3,requires_grad=True))
t.fft.fftfreq(3,out=t.zeros(3,requires_grad=True))
t.normal(0.,1.,(3,),out=t.zeros(3,requires_grad=True))
t.normal(t.zeros(3),1.,out=t.zeros(3,requires_grad=True))
t.bernoulli(t.ones(3),out=t.zeros(3,requires_grad=True))
t.ones(3).cumsum_(0,dtype=t.float64)
t.ones(3,dtype=t.int64).cumprod_(0,dtype=t.float64)
t.eig(t.eye(2))
t.eye(2).eig(True)
t.symeig(t.eye(2),upper=False)
t.eye(2).symeig()
t.lstsq(t.eye(2),t.eye(2))
t.eye(2).lstsq(t.eye(2))
t.solve(t.eye(2),t.eye(2))
t.eye(2).solve(t.eye(2))
t.matrix_rank(t.eye(2))
t.eye(2).reinforce(1)
t.complex(t.ones(2),t.ones(3))
t.polar(t.ones(2),t.ones(3))
t.dist(t.ones(2),t.ones(3))
t.heaviside(t.ones(2),t.ones(2),out=t.ones(2,dtype=t.float64))
t._C._infer_size(t.Size((2,)),t.Size((3,)))
t._C._infer_size((2,),t.Size((3,)))
t._compute_linear_combination(t.ones(()),t.ones(2,2))
t.mean(t.ones(3,5),0,dtype=t.float64,out=t.ones(5))
t.Tensor.__radd__(2,t.ones(2))
t.Tensor.__or__(2,t.ones(2))
t.pca_lowrank(t.ones(2,2,2).to_sparse())
t.ones(2).bfloat16().numpy()
t.ones(2).bfloat16().numpy(force=True)
np.asarray(t.ones(2).bfloat16())
"""

SIXTEEN_BITS = "a=(t.arange(300)*3.7-500).to(t.{kind});b=(a.flip(0)*.0371+.02)"
QUOTIENTS = ("t.div(a,b,rounding_mode='trunc')", "t.div(a,b,rounding_mode='floor')")


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("line", [*QUOTIENTS, "a//b", "a//2.7", "a//b[7]"])
def test_every_step_of_a_whole_quotient_is_rounded(line: str, kind: str):
    check_line(f"{SIXTEEN_BITS.format(kind=kind)};({line}).tolist()")


def test_principal_components_of_sparse_data():
    data = gradtape.tensor([[1.0, 0, 2], [0, 0, 3], [4, 5, 0], [0, 1, 6]])
    dense, sparse = (gradtape.pca_lowrank(x, 3)[1] for x in (data, data.to_sparse()))
    assert gradtape.allclose(dense, sparse)


GRADIENTS = """
x=t.tensor([[0.3,-2.,1.],[0.,1.,5.]],dtype=t.float64,requires_grad=True)
y=x.logcumsumexp(1);w=t.tensor([[1.,-2.,0.5],[0.,3.,-1.]],dtype=t.float64)
g,=t.autograd.grad(y,x,w,create_graph=True);h,=t.autograd.grad((g*w).sum(),x)
"""


@pytest.mark.parametrize("line", VALUES.strip().splitlines())
def test_odd_calls_give_what_pytorch_gives(line: str):
    check_line(line)


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_refused_calls_are_worded_alike(line: str):
    check_line(line)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_logcumsumexp_has_the_same_slopes_twice(kind: str):
    program = GRADIENTS.strip().replace("float64", kind).replace("\n", ";")
    check_line(f"{program};[t.view_as_real(e+0j).tolist() for e in (g,h)]")


NODES = """
x=t.tensor([1.,-2.],requires_grad=True);y=t.polar(x,x)
x=t.tensor([[1.,2.],[3.,4.]],requires_grad=True);y=t.block_diag(x[0],x,x[0,0],t.ones(0))
x=t.tensor([1.,-2.5],requires_grad=True);y=x.round(decimals=0)
x=t.tensor([1.,-2.5],requires_grad=True);y=x.clone().round_(decimals=0)
x=t.tensor([1.,-2.5],requires_grad=True);y=t.block_diag(x,t.ones(1,2,dtype=t.complex64))
"""


@pytest.mark.parametrize("line", NODES.strip().splitlines())
def test_nodes_and_slopes_are_pytorchs(line: str):
    check_line(f"{line};type(y.grad_fn).__name__")
    check_line(f"{line};t.view_as_real(y+0j).tolist()")
    weighed = "(y*t.arange(1,y.numel()+1).view(y.shape)*(1-2j)).real.sum()"
    check_line(f"{line};t.autograd.grad({weighed},x)[0].tolist()")


def test_conjugating_in_place_is_a_write():
    check_line("x=t.ones(2);x.conj_physical_();x._version")


MEANS = ("x.mean()", "x.mean(0)", "x.mean(1,keepdim=True)", "x.mean((0,1))")


@pytest.mark.parametrize("line", [*MEANS, "x.clone().mean()"])
@pytest.mark.parametrize("again", [False, True])
def test_gradients_of_means_may_be_written(line: str, again: bool):
    setup = f"x=t.ones(2,3,requires_grad=True);y={line}.sum()"
    grad = f"g,=t.autograd.grad(y,x,create_graph={again})"
    check_line(f"{setup};{grad};g.stride()")
    check_line(f"{setup};{grad};g.detach().add_(1)")


LAID_OUT = """
x=t.arange(8.).view(2,2,2).requires_grad_();y=x.cumprod(1);w=x
x=t.ones(2,2,4);w=t.ones(2,1,4,requires_grad=True);y=t.conv1d(x,w,groups=2)
x=t.ones(1,1,4);w=t.ones(1,1,4,requires_grad=True);y=t.conv_transpose1d(x,w)
"""


@pytest.mark.parametrize("line", LAID_OUT.strip().splitlines())
def test_gradients_lie_as_pytorchs(line: str):
    check_line(f"{line};g,=t.autograd.grad(y.sum(),w);[g,g.stride()]")
