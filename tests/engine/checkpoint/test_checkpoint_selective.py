"""Checkpoints that keep the results of some ops, against PyTorch's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same
from .checkpoints import changing, run

pytest.importorskip("torch.utils.checkpoint")

Program = Callable[[Any], Any]


def contexts(torch: Any, policy: Any, **options: Any) -> Any:
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    return functools.partial(make, policy, **options)


def test_a_policy_is_asked_about_every_result() -> None:
    def program(torch: Any) -> Any:
        asked: list[Any] = []

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            shape = list(context.op_output.shape)
            asked.append((str(op), context.is_recompute, shape))
            return op == torch.ops.aten.mm.default

        x = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
        y = run(
            torch,
            lambda x: torch.mm(x.cos(), x).sin() * x.exp(),
            x,
            context_fn=contexts(torch, policy),
        )
        y.sum().backward()
        return asked, y, x.grad

    assert_same(program)


def test_ops_have_pytorchs_names() -> None:
    def program(torch: Any) -> Any:
        asked: list[str] = []

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            asked.append(str(op))
            return False

        def function(x: Any) -> Any:
            far = (x > 0.2) & (x != x.exp())
            y = torch.where(far, 2 - x, x / 3) ** 2
            loss = torch.nn.functional.cross_entropy(y, torch.arange(2))
            return loss + x.softmax(0).sum(1).std() + x[far].max()

        x = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
        y = run(torch, function, x, context_fn=contexts(torch, policy))
        y.backward()
        return [name for name in asked if name != "aten.arange.default"], x.grad

    assert_same(program)


def test_what_was_kept_is_not_computed_again() -> None:
    ran: list[str] = []
    x = gradtape.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    keep = contexts(gradtape, [gradtape.ops.aten.mm.default])
    y = run(gradtape, lambda x: gradtape.mm(x.cos(), x).sin().exp(), x, context_fn=keep)
    kernel = gradtape._dispatch.declare.OPS["mm"].ordered
    try:
        gradtape._dispatch.declare.OPS["mm"].ordered = lambda *a: (
            ran.append("mm") or kernel(*a)
        )
        y.sum().backward()
    finally:
        gradtape._dispatch.declare.OPS["mm"].ordered = kernel
    assert ran == []
    expected = gradtape.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    gradtape.mm(expected.cos(), expected).sin().exp().sum().backward()
    assert gradtape.allclose(x.grad, expected.grad)


SELECTIVE: dict[str, Program] = {
    "mutated": lambda torch: _selective(torch, lambda x: x.sin().mul_(2).cos().exp()),
    "mutation allowed": lambda torch: _selective(
        torch,
        lambda x: x.sin().mul_(2).cos().exp(),
        allow_cache_entry_mutation=True,
    ),
    "twice": lambda torch: [
        y.sum().backward(retain_graph=True)
        for y in [_checkpointed(torch, lambda x: x.sin().cos().exp())] * 2
    ],
    "other ops": lambda torch: _selective(
        torch, changing(lambda x: x.sin().exp(), lambda x: x.tan().exp())
    ),
    "more of an op": lambda torch: _selective(
        torch, changing(lambda x: x.neg().exp(), lambda x: x.neg().neg().exp())
    ),
    "no op": lambda torch: contexts(torch, [2])(),
    "no policy": lambda torch: contexts(torch, 2)(),
    "view": lambda torch: _selective(torch, lambda x: x.view(1, -1).sin().exp()),
}


def _checkpointed(torch: Any, function: Any, **options: Any) -> Any:
    x = torch.tensor([0.1, 0.2], requires_grad=True)
    ops = [torch.ops.aten.sin.default, torch.ops.aten.view.default]
    return run(torch, function, x, context_fn=contexts(torch, ops, **options))


def _selective(torch: Any, function: Any, **options: Any) -> Any:
    y = _checkpointed(torch, function, **options)
    y.sum().backward()
    return y


@pytest.mark.parametrize("name", SELECTIVE)
def test_selection_follows_pytorch(name: str) -> None:
    assert_same(SELECTIVE[name])


def test_packets_are_no_ops() -> None:
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific"):
        contexts(gradtape, [gradtape.ops.aten.sin])()
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = gradtape.ops.aten.nothing
    assert str(gradtape.ops.aten.add.Tensor) == "aten.add.Tensor"
    assert gradtape.ops.aten.add.Tensor.name() == "aten::add.Tensor"
    assert gradtape.ops.aten.sin.default(gradtape.zeros(1)).item() == 0
