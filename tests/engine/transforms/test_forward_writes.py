"""Tangents of views and of what is written in place."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape as gt
from gradtape.autograd import forward_ad as fw

from ..oracle import assert_same
from .test_forward_ad import dual, tangent_of

WRITES: dict[str, Any] = {
    "write to a dual": lambda m, x: x.mul_(2),
    "view of a dual": lambda m, x: x.view(2, 2).t()[0].mul_(x[:2]),
    "write through a view": lambda m, x: x[1:3].copy_(x[2:] * 3),
    "set an item": lambda m, x: x.__setitem__(0, x[1] ** 2),
    "fill": lambda m, x: x[:2].fill_(7.0),
    "zero": lambda m, x: x[::2].zero_(),
    "fill with a dual": lambda m, x: x[:2].fill_(x[3]),
    "mask": lambda m, x: x.masked_fill_(x > 2, 5.0),
    "index": lambda m, x: x.index_put_((m.tensor([0, 2]),), x[:2] * x[2:]),
    "add to an index": lambda m, x: x.index_add_(0, m.tensor([1, 1]), x[:2]),
    "scatter": lambda m, x: x.scatter_(0, m.tensor([3, 0]), x[1:3]),
    "exp": lambda m, x: x[1:].exp_(),
    "clamp": lambda m, x: x.clamp_(1.5, 3.5),
    "pieces": lambda m, x: x.mul_(m.cat(x.split(2)[::-1])),
    "in-place view": lambda m, x: x.unsqueeze_(0).mul_(3),
    "turned": lambda m, x: x.view(2, 2).t_().mul_(m.ones(2) * 3),
    "resized": lambda m, x: x.resize_(2),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_writes_reach_the_tangents_of_views_and_bases(write: Any):
    def program(m: Any) -> Any:
        with m.autograd.forward_ad.dual_level():
            x = dual(m, [1.0, 2.0, 3.0, 4.0], [0.5, 1.5, -1.0, 2.0])
            before = x[1:]
            write(m, x)
            after = [x, before, x[..., 2:], x.detach()]
            return [[t.tolist(), tangent_of(m, t)] for t in after]

    assert_same(program)


def test_writing_a_product_with_itself_doubles_the_tangent():
    # PyTorch reads the factor after it was overwritten, and gets 1, 9, ...
    with fw.dual_level():
        x = dual(gt, [1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
        x.mul_(x)
        assert tangent_of(gt, x)["values"] == [2.0, 4.0, 12.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda m, view, x: view.copy_(x),
        lambda m, view, x: view.add_(x),
        lambda m, view, x: view.mul_(x),
        lambda m, view, x: view[0].copy_(x[1]),
    ],
)
@pytest.mark.parametrize(
    "look",
    [
        lambda base: base.t(),
        lambda base: base.view_as(base),
        lambda base: base[:, :2],
        lambda base: base.narrow(1, 0, 2).t(),
        lambda base: base.detach()[:2],
    ],
)
def test_writing_a_dual_into_a_view_makes_tangents_of_its_base(look: Any, write: Any):
    def program(m: Any) -> Any:
        base = m.arange(4.0).reshape(2, 2).clone()
        view, sibling = look(base), base[1]
        with m.autograd.forward_ad.dual_level():
            x = dual(m, [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
            write(m, view, x)
            first = [tangent_of(m, t) for t in (view, base, sibling, base[0])]
            view *= 2
            return first, [tangent_of(m, t) for t in (view, base, sibling)]

    assert_same(program)


def test_views_as_other_numbers_share_tangents():
    def program(m: Any) -> Any:
        with m.autograd.forward_ad.dual_level():
            z = dual(m, [1 + 2j, 3j], [1j, 2 + 0j])
            pairs = m.view_as_real(z)
            pairs.mul_(3)
            base = m.zeros(2, 2)
            whole = m.view_as_complex(base)
            whole += z
            late = m.zeros(2, dtype=m.complex64)
            seen = m.view_as_real(late)
            late += z
            every = (z, pairs, z.real, z.imag, whole, base, late, seen)
            return [tangent_of(m, t) for t in every]

    assert_same(program)
