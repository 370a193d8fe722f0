"""Losses with one derivative only say so where a second, or a forward one, is due."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from .._engines import OURS, Engine, needs_torch, theirs

pytestmark = needs_torch


def _segments(e: Engine, x: Any) -> Any:
    ends = e.module.tensor([0, 1, 3, 5])
    return e.module._segment_reduce(x[:, 0], "mean", offsets=ends, axis=0)


def _ctc(e: Engine, x: Any) -> Any:
    t = e.module.tensor
    rows = x.log_softmax(-1).unsqueeze(1)
    return e.module.nn.functional.ctc_loss(rows, t([[1, 2]]), t([5]), t([2]))


def _margin(e: Engine, x: Any) -> Any:
    target = e.module.tensor([0, 1, 2, 0, 1])
    return e.module.nn.functional.multi_margin_loss(x, target, p=2)


def _multilabel(e: Engine, x: Any) -> Any:
    target = e.module.tensor([[0, 2, -1]] * 5)
    return e.module.nn.functional.multilabel_margin_loss(x, target)


LOSSES: dict[str, Callable[[Engine, Any], Any]] = {
    "segment_reduce": _segments,
    "ctc_loss": _ctc,
    "multi_margin_loss": _margin,
    "multilabel_margin_loss": _multilabel,
}


def values(e: Engine) -> Any:
    return (e.module.arange(15.0).reshape(5, 3) * 0.7).sin()


def outcome(run: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's about TorchScript
        try:
            return run()
        except RuntimeError as error:
            return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.parametrize("name", LOSSES)
def test_a_second_derivative_is_refused_not_zero(name: str):
    def run(e: Engine) -> Any:
        x = values(e).requires_grad_()
        (slope,) = e.module.autograd.grad(
            LOSSES[name](e, x).pow(2).sum(), x, create_graph=True
        )
        assert slope.requires_grad
        return (slope * slope).sum().backward()

    mine, yours = (outcome(lambda e=e: run(e)) for e in (OURS, theirs()))
    assert mine == yours
    assert mine[1].endswith("is not implemented")


@pytest.mark.parametrize("name", [n for n in LOSSES if n != "ctc_loss"])
def test_a_forward_derivative_is_refused_not_zero(name: str):
    def run(e: Engine) -> Any:
        forward = e.module.autograd.forward_ad
        with forward.dual_level():
            x = values(e)
            return LOSSES[name](e, forward.make_dual(x, x.cos()))

    mine, yours = (outcome(lambda e=e: run(e)) for e in (OURS, theirs()))
    assert mine == (yours[0], yours[1].replace("loss_forward", "loss"))
    assert mine[0] == "NotImplementedError"


@pytest.mark.parametrize("kind", ["long", "int", "bool", "float", "double"])
def test_conversion_to_integers_ends_tangents(kind: str):
    def run(e: Engine) -> Any:
        forward = e.module.autograd.forward_ad
        with forward.dual_level():
            x = values(e)
            dual = forward.make_dual(x, x.cos())
            cut = getattr(dual, kind)()
            tangents = (forward.unpack_dual(each).tangent for each in (cut, dual - cut))
            return [None if t is None else t.tolist() for t in tangents]

    assert outcome(lambda: run(OURS)) == outcome(lambda: run(theirs()))


def test_the_shares_of_quantiles_have_tangents():
    def run(e: Engine) -> Any:
        forward = e.module.autograd.forward_ad
        with forward.dual_level():
            share = e.module.tensor([0.3, 0.8])
            dual = forward.make_dual(share, share + 1)
            found = e.module.quantile(values(e), dual, 0)
            return forward.unpack_dual(found).tangent.tolist()

    mine, yours = outcome(lambda: run(OURS)), outcome(lambda: run(theirs()))
    assert mine == [pytest.approx(row, rel=1e-5) for row in yours]


def test_shapes_are_looked_at_before_dtypes():
    for name in ("pow", "gcd", "atan2", "hypot", "copysign"):
        kinds = {"gcd": "float32", "pow": "bool"}

        def run(e: Engine, name: str = name, kinds: Any = kinds) -> Any:
            kind = getattr(e.module, kinds.get(name, "complex64"))
            two, three = (e.module.ones(n, dtype=kind) for n in (2, 3))
            return getattr(e.module, name)(two, three)

        mine, yours = (outcome(lambda e=e: run(e)) for e in (OURS, theirs()))
        assert mine == yours
