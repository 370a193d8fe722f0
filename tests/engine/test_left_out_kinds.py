"""Dtypes that a kernel of PyTorch's leaves out are refused in its words."""

from __future__ import annotations

import pytest

from .nn.lines import check_line

KINDS = ("float16", "bfloat16", "float64", "complex64", "int64", "int32", "uint8")
KINDS = (*KINDS, "bool")

CALLS = """
t.kthvalue(t.ones(3,4,dtype=k),2)[0].shape
t.kthvalue(t.ones((),dtype=k),1)[0].shape
t.mode(t.ones(3,4,dtype=k))[0].shape
t.cummax(t.ones((),dtype=k),0)[0].shape
t.cummin(t.ones(2,dtype=k),0)[0].shape
t.logit(t.ones(3,dtype=k)).shape
t.polygamma(0,t.ones(3,dtype=k)).shape
t.polygamma(1,t.ones(3,dtype=k)).shape
t.polygamma(3,t.ones(3,dtype=k)).shape
t.dist(t.ones(3,dtype=k),t.ones(3,dtype=k)).shape
t.nn.functional.multi_margin_loss(t.ones(3,4,dtype=k),t.zeros(3,dtype=t.int64)).shape
t.nn.functional.multilabel_margin_loss(t.ones(3,4,dtype=k),t.zeros(3,4,dtype=t.int64)).shape
t.nn.functional.nll_loss(t.ones(3,4,dtype=k),t.zeros(3,dtype=t.int64)).shape
t.nn.functional.nll_loss(t.ones(3,4,2,2,dtype=k),t.zeros(3,2,2,dtype=t.int64)).shape
t.nn.functional.avg_pool3d(t.ones(1,1,4,4,4,dtype=k),2).shape
t.nn.functional.avg_pool2d(t.ones(1,1,4,4,dtype=k),2).shape
t.nn.functional.max_pool1d(t.ones(1,1,4,dtype=k),2,return_indices=True)[1].shape
t.nn.functional.max_pool1d(t.ones(1,1,4,dtype=k),2).shape
t.nn.functional.rrelu(t.ones(3,dtype=k),training=True).shape
t.nn.functional.rrelu(t.ones(3,dtype=k)).shape
t.histogram(t.ones(5,dtype=k),2)[0].shape
t.histogram(t.ones(5,dtype=k),t.arange(3).to(k))[0].shape
t.tril_indices(2,3,dtype=k).shape
t.triu_indices(2,3,dtype=k).shape
"""
MODES = {"nearest": 3, "nearest-exact": 2, "linear": 1, "bilinear": 2, "bicubic": 2}
MODES |= {"trilinear": 3}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", CALLS.strip().splitlines())
def test_kinds_are_taken_or_refused_as_in_pytorch(line: str, kind: str):
    check_line(f"k=t.{kind};{line}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_resizing_takes_and_refuses_kinds_as_in_pytorch(mode: str, kind: str):
    shape = (1, 2, *(4,) * MODES[mode])
    check_line(
        f"x=t.ones({shape},dtype=t.{kind});"
        f"t.nn.functional.interpolate(x,size={(3,) * MODES[mode]},mode='{mode}').shape"
    )


@pytest.mark.parametrize("kind", ["float16", "float32", "bfloat16"])
def test_antialiasing_refuses_halves(kind: str):
    check_line(
        f"x=t.ones(1,1,4,4,dtype=t.{kind});t.nn.functional."
        "interpolate(x,size=(3,3),mode='bilinear',antialias=True).shape"
    )


MET = """
t.clamp_min(b,True)
t.clamp_max(b,True)
t.clamp(b,True,True)
t.clamp(b,True)
t.clamp(b,None,True)
t.clamp(b,b,b)
b.clone().clamp_min_(True)
t.clamp_min(b,0)
t.pow(True,b)
t.pow(2,b)
t.special.zeta(b,h)
t.special.zeta(b.long(),h)
t.special.zeta(t.tensor(2.),h)
t.special.zeta(h,t.ones(3))
t.special.zeta(h,h.double()[0])
t.special.zeta(h.bfloat16(),h)
t.special.hermite_polynomial_h(b,h)
t.special.hermite_polynomial_h(2,h)
t.max(h,True)
t.max(h,0.)
t.min(h,0.)
t.max(h,b)
"""


@pytest.mark.parametrize("line", MET.strip().splitlines())
def test_kinds_that_meet_give_what_pytorch_gives(line: str):
    check_line(f"b=t.ones(3,dtype=t.bool);h=t.ones(3,dtype=t.half);{line}")


AT_EDGES = """
t.softmax(t.ones((),dtype=k),0)
t.softmax(t.ones(2,3,dtype=k),0).shape
t.softmax(t.ones(2,0,dtype=k),1).shape
t.log_softmax(t.ones((),dtype=k),0)
t.ldexp(t.ones(3,dtype=k),t.ones(3,dtype=t.bool))
t.median(t.ones(2,3,dtype=k),1)[0]
t.nanmedian(t.ones(2,3,dtype=k),1)[0]
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", AT_EDGES.strip().splitlines())
def test_edges_take_and_refuse_kinds_as_in_pytorch(line: str, kind: str):
    check_line(f"k=t.{kind};{line}")
