"""Writes to cells that several elements share, beside PyTorch where it says a word."""

from __future__ import annotations

import warnings

import pytest

import gradtape as gt
from gradtape import OverlapWarning

from ..oracle import assert_same, outcome


def expanded(t):
    return t.arange(3.0).expand(3, 3)


def one(t):
    return t.tensor([0])


WRITES = {
    "add_": lambda t, x: x.add_(1),
    "fill_": lambda t, x: x.fill_(1),
    "zero_": lambda t, x: x.zero_(),
    "copy_": lambda t, x: x.copy_(t.ones(3, 3)),
    "copy_ of itself": lambda t, x: x.copy_(x),
    "copy_ that does not fit": lambda t, x: x.copy_(t.ones(4)),
    "masked_fill_": lambda t, x: x.masked_fill_(x > 1, 0.0),
    "index_fill_": lambda t, x: x.index_fill_(0, one(t), 0.0),
    "index_add_": lambda t, x: x.index_add_(0, one(t), t.ones(1, 3)),
    "index_copy_": lambda t, x: x.index_copy_(0, one(t), t.ones(1, 3)),
    "index_put_": lambda t, x: x.index_put_((one(t),), t.ones(3)),
    "scatter_": lambda t, x: x.scatter_(0, t.tensor([[0]]), 0.0),
    "put_": lambda t, x: x.put_(one(t), t.ones(1)),
    "tril_": lambda t, x: x.tril_(),
    "triu_": lambda t, x: x.triu_(),
    "fill_diagonal_": lambda t, x: x.fill_diagonal_(3),
    "cumsum_": lambda t, x: x.cumsum_(0),
    "uniform_": lambda t, x: x.uniform_(),
    "addmm_": lambda t, x: x.addmm_(t.ones(3, 3), t.ones(3, 3)),
    "x[0] = 1": lambda t, x: x.__setitem__(0, 1),
    "x[:2] = 1": lambda t, x: x.__setitem__(slice(0, 2), 1),
    "x[0, 0] = 1": lambda t, x: x.__setitem__((0, 0), 1),
    "x[[0]] = 1": lambda t, x: x.__setitem__(one(t), 1.0),
    "add(out=)": lambda t, x: t.add(x, 1, out=x),
    "exp(out=)": lambda t, x: t.exp(t.ones(3, 3), out=x),
    "shift by neighbours": lambda t, x: x[0, :-1].__ilshift__(x[0, 1:]),
    "mask by neighbours": lambda t, x: x[0, :-1].bitwise_and_(x[0, 1:]),
    "expand of one": lambda t, x: x[:1].add_(1),
}


@pytest.mark.parametrize("name", WRITES)
def test_writing_an_expanded_tensor(name):
    def program(t):
        x = expanded(t)
        WRITES[name](t, x)
        return x, x._version

    assert_same(program)


OPERANDS = {
    "transposed": lambda t: (a := t.arange(9.0).view(3, 3)).add_(a.t()),
    "itself": lambda t: (x := t.arange(3.0)).mul_(x),
    "shifted": lambda t: (x := t.arange(6.0))[1:].add_(x[:-1]),
    "shifted by setitem": lambda t: (x := t.arange(6.0)).__setitem__(
        slice(1, None), x[:-1]
    ),
    "interleaved": lambda t: (x := t.arange(6.0))[::2].add_(x[1::2]),
    "out shifted": lambda t: t.add((x := t.arange(6.0))[1:], 1, out=x[:-1]),
    "out itself": lambda t: t.add(x := t.arange(6.0), 1, out=x),
    "through data": lambda t: (x := t.arange(6.0))[1:].add_(x.data[:-1]),
    "index_add_ of itself": lambda t: (x := t.arange(3.0)).index_add_(
        0, t.arange(3), x
    ),
    "index_copy_ of a part": lambda t: (x := t.arange(6.0)).index_copy_(
        0, t.arange(3), x[:3]
    ),
    "scatter_ of itself": lambda t: (x := t.arange(3.0)).scatter_(0, t.arange(3), x),
    "index_fill_ by itself": lambda t: (i := t.arange(3)).index_fill_(0, i, 0),
    "setitem by itself": lambda t: (i := t.arange(3)).__setitem__(i, 0),
    "setitem of a part": lambda t: (x := t.arange(3.0)).__setitem__(one(t), x[0]),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operands_that_overlap_the_target(name):
    assert_same(OPERANDS[name])


SEQUENCES = {
    "add": lambda t: t.arange(4.0).as_strided((2, 2), (1, 1)).add_(1),
    "mul in windows": lambda t: t.arange(4.0).unfold(0, 2, 1).mul_(2),
    "tensor operand": lambda t: (
        t.arange(4.0).as_strided((3, 2), (1, 1)).add_(t.ones(3, 2))
    ),
    "exp": lambda t: t.zeros(3).as_strided((2, 2), (1, 1)).exp_(),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_windows_are_written_one_after_the_other_with_a_warning(name):
    torch = pytest.importorskip("torch")
    with pytest.warns(OverlapWarning, match="single memory location"):
        ours = SEQUENCES[name](gt)
    theirs = SEQUENCES[name](torch)
    assert ours.flatten().tolist() == pytest.approx(theirs.flatten().tolist())


def test_gaps_between_elements_are_no_overlap():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gt.arange(12.0).view(3, 4)[:, ::2].add_(1)
        gt.arange(12.0).view(3, 4).t()[1:].mul_(2)
        gt.arange(12.0).as_strided((2, 3), (6, 2)).add_(1)


def test_gradient_of_overlapping_input_is_shared_out():
    def program(t):
        x = t.arange(3.0, requires_grad=True)
        x.expand(2, 3).as_strided((3,), (1,)).sum().backward()
        return x.grad

    assert_same(program)


def test_gradient_into_an_expanded_place_is_refused():
    def program(t):
        x = t.arange(3.0, requires_grad=True) * 1
        x.expand(2, 3).zero_()
        x.sum().backward()

    assert outcome(program, gt)[0] == "raised"
    assert_same(program)
