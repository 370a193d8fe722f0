"""what_if(): each answer against the program that really has the change."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import gradviz
from gradviz.errors import CaptureError


def norm(gradient: Any) -> float:
    return float(gradient.double().pow(2).sum().sqrt())


def model_of(lib: Any) -> Any:
    lib.manual_seed(0)
    nn = lib.nn
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4)).double()


class Program:
    """An encoder that is read twice; a change goes where ``gate`` and weights are."""

    def __init__(self, lib: Any, gate: Callable[[Any], Any] | None = None) -> None:
        self.lib = lib
        self.model = model_of(lib)
        x = lib.linspace(-1, 1, 6, dtype=lib.float64).reshape(2, 3)
        self.h = self.model(x)
        self.z = self.h.detach() if gate is None else gate(self.h)
        self.fit = (self.z * self.h).tanh().sum()
        self.penalty = (self.h * self.h).mean()

    def loss(self, weight: float = 0.5) -> Any:
        self.total = self.fit + weight * self.penalty
        return self.total

    def gradients(self, loss: Any) -> list[Any]:
        leaves = [*self.model.parameters()]
        return list(self.lib.autograd.grad(loss, leaves, retain_graph=True))


def answers(asked: Any) -> list[float | None]:
    return [each.would for each in asked.arrivals]


def ask(program: Program) -> Any:
    model = program.model  # its name in this frame gives the parameters theirs
    asked = gradviz.what_if(program.loss())
    assert model is not None
    return asked


def check(asked: Any, program: Program, gradients: list[Any]) -> None:
    """Compare norms by name, and the gradients themselves."""
    names = [name for name, _ in program.model.named_parameters()]
    wanted = {n: norm(g) for n, g in zip(names, gradients, strict=True)}
    found = {each.name: each.would for each in asked.arrivals}
    assert {n: found[n] for n in names} == pytest.approx(wanted, rel=1e-9)


def pair(lib: Any) -> tuple[Program, Any]:
    program = Program(lib)
    return program, ask(program)


def test_nothing_changed_is_what_backward_does(lib: Any):
    program, asked = pair(lib)
    check(asked, program, program.gradients(program.total))
    assert all(each.did == each.would for each in asked.arrivals)
    assert all(each.cosine == pytest.approx(1.0) for each in asked.arrivals)
    assert repr(asked).startswith("What if: nothing is changed\nparameter")


def test_a_term_that_is_left_out(lib: Any):
    program, asked = pair(lib)
    check(asked.without(program.penalty), program, program.gradients(program.fit))
    with pytest.raises(ValueError, match="no term of this loss"):
        asked.without(program.h)


def test_a_term_that_is_used_elsewhere_keeps_its_other_gradient(lib: Any):
    w = lib.tensor([3.0], requires_grad=True)
    term = (w * w).sum()
    loss = term + (term * 2.0).exp().log()
    (left,) = gradviz.what_if(loss).without(term).arrivals
    assert (left.did, left.would) == pytest.approx((18.0, 12.0))


def test_a_gradient_that_is_scaled_replaced_or_cut(lib: Any):
    program, asked = pair(lib)
    fit, penalty = program.gradients(program.fit), program.gradients(program.penalty)
    edge = program.total.grad_fn, 1  # the weighted penalty
    wanted = [a + 0.5 * 3.0 * b for a, b in zip(fit, penalty, strict=True)]
    check(asked.scale(edge, 3.0), program, wanted)
    check(asked.scale(program.penalty, 3.0), program, wanted)
    check(asked.cut(edge), program, fit)
    ones = lib.autograd.grad(
        program.h.sum(), [*program.model.parameters()], retain_graph=True
    )
    check(asked.replace(program.h, 1.0), program, list(ones))
    check(asked.replace(program.h, lib.ones_like(program.h)), program, list(ones))
    assert answers(asked.cut(program.h)) == [None] * 4


def test_changes_add_up_and_leave_the_first_question_as_it_was(lib: Any):
    program, asked = pair(lib)
    once = asked.scale(program.penalty, 3.0)
    twice = once.scale(program.penalty, 2.0)
    fit, penalty = program.gradients(program.fit), program.gradients(program.penalty)
    wanted = [a + 0.5 * 6.0 * b for a, b in zip(fit, penalty, strict=True)]
    check(twice, program, wanted)
    assert (len(asked.changes), len(once.changes), len(twice.changes)) == (0, 1, 2)
    weight = program.model[0].weight
    assert lib.allclose(twice.gradient(weight), wanted[0])


def test_a_detach_that_is_taken_away(lib: Any):
    """What took the value is run again, for the derivative that nobody asked for."""
    program, asked = pair(lib)
    without = Program(lib, gate=lambda h: h * 1.0)
    wanted = without.gradients(without.loss())
    check(asked.uncut(program.z, program.h), program, wanted)


def test_a_cut_leaf_goes_on_into_what_it_was_made_of(lib: Any):
    program = Program(lib, gate=lambda h: h.detach().requires_grad_())
    asked = ask(program)
    without = Program(lib, gate=lambda h: h * 1.0)
    uncut = asked.uncut(program.z, program.h)
    check(uncut, program, without.gradients(without.loss()))
    with pytest.raises(ValueError, match=r"uncut\(z, h\)"):
        asked.uncut(program.z)


def test_a_rounding_passes_its_gradient_straight_through(lib: Any):
    def rounded(h: Any) -> Any:
        return (h * 4.0).round()

    program = Program(lib, gate=rounded)
    through = Program(lib, gate=lambda h: h * 4.0 + (rounded(h) - h * 4.0).detach())
    wanted = through.gradients(through.loss())
    check(ask(program).uncut(program.z), program, wanted)


def test_a_parameter_that_only_a_change_reaches(lib: Any):
    encoder = lib.tensor([2.0], requires_grad=True)
    head = lib.tensor([5.0], requires_grad=True)
    h = encoder * 3.0
    z = h.detach()
    loss = (z * head).sum()
    found = {a.name: a for a in gradviz.what_if(loss).uncut(z, h).arrivals}
    assert (found["head"].did, found["head"].would) == pytest.approx((6.0, 6.0))
    assert (found["encoder"].did, found["encoder"].would) == (None, 15.0)


def test_a_function_of_the_user(lib: Any):
    class Clamp(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, factor: float, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * factor, x * x

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            (x,) = ctx.saved_tensors
            return None, first * ctx.factor + second * 2 * x

    w = lib.tensor([3.0, 1.0], requires_grad=True)
    loss = Clamp.apply(4.0, w)[0].sum()
    (row,) = gradviz.what_if(loss).arrivals
    assert row.did == pytest.approx(norm(lib.autograd.grad(loss, w)[0]))


def state_of(lib: Any, tensors: list[Any]) -> list[Any]:
    kept = [
        (each.detach().tolist(), each._version, each.grad_fn is None)
        for each in tensors
    ]
    grads = [None if t.grad is None else t.grad.tolist() for t in tensors if t.is_leaf]
    return [kept, grads, lib.get_rng_state().tolist(), random.getstate()]


def test_no_state_of_the_program_changes(lib: Any):
    """Parameters, gradients, buffers, versions, generators: bit for bit."""
    nn = lib.nn
    lib.manual_seed(1)
    model = nn.Sequential(
        *(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5)),
        nn.Linear(4, 2),
    )
    x = lib.randn(8, 3, requires_grad=True)
    model(x).sum().backward()  # so that there is a .grad
    hidden = model(x)
    z = hidden.detach()
    term = hidden.pow(2).mean()
    loss = (z * hidden).sum() + term
    calls: list[Any] = []
    hidden.register_hook(lambda gradient: calls.append(gradient))
    tensors = [*model.parameters(), *model.buffers(), x, hidden, z, term, loss]
    before = state_of(lib, tensors)
    grads = [each.grad for each in model.parameters()]
    asked = gradviz.what_if(loss).uncut(z, hidden).without(term).scale(hidden, 0.1)
    asked = asked.replace((loss.grad_fn, 0), 2.0).cut(x)
    assert len(asked.arrivals) == 7
    assert state_of(lib, tensors) == before
    assert all(p.grad is g for p, g in zip(model.parameters(), grads, strict=True))
    assert calls == []
    assert len(asked.hooks) == 1
    assert "lambda" in asked.hooks[0]
    assert "Without 1 hook: " in repr(asked)
    loss.backward()  # the graph is whole, and the hook still there
    assert len(calls) == 1


def test_a_recording_does_not_see_the_questions(lib: Any):
    w = lib.tensor([3.0], requires_grad=True)
    with gradviz.record() as rec:
        loss = (w * w).sum()
        assert gradviz.what_if(loss).arrivals[0].did == 6.0
        loss.backward()
    assert len(rec.snapshot().nodes) == 3
    assert rec.passes == 1


def test_a_freed_graph_says_what_to_do(lib: Any):
    w = lib.tensor([3.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    with pytest.raises(CaptureError, match=r"before backward.*retain_graph=True"):
        _ = gradviz.what_if(loss).arrivals
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    assert gradviz.what_if(loss).arrivals[0].did == 6.0


def test_what_cannot_be_asked_is_one_sentence(lib: Any):
    w = lib.tensor([3.0, 4.0], requires_grad=True)
    other = lib.ones(2, requires_grad=True) * 2
    y = w * w
    with pytest.raises(CaptureError, match="more than one element"):
        gradviz.what_if(y)
    with pytest.raises(CaptureError, match="no grad_fn"):
        gradviz.what_if(w.detach().sum())
    asked = gradviz.what_if(y.sum())
    with pytest.raises(ValueError, match="no gradient of this loss reaches"):
        asked.cut(other)
    with pytest.raises(ValueError, match="shape"):
        asked.replace(y, lib.ones(3))
    with pytest.raises(ValueError, match="scaled by inf"):
        asked.scale(y, float("inf"))
    with pytest.raises(IndexError, match="no input 5"):
        asked.cut((y.grad_fn, 5))
    with pytest.raises(CaptureError, match="nothing behind the loss kept"):
        asked.uncut(lib.ones(2), y)
    with pytest.raises(CaptureError, match="several inputs have its shape"):
        asked.uncut(y)
    leaf = y.detach().requires_grad_()
    loop = (leaf * w).sum()
    ring = gradviz.what_if(loop).uncut(leaf, loop.reshape(1).expand(2))
    with pytest.raises(CaptureError, match="circle"):
        _ = ring.arrivals


def test_a_gradient_for_what_is_no_number(lib: Any):
    w = lib.tensor([3.0, 4.0], requires_grad=True)
    y = w * w
    (row,) = gradviz.what_if(y, gradient=lib.tensor([1.0, 0.0])).arrivals
    assert row.did == 6.0


def test_nan_and_a_deep_graph(lib: Any):
    w = lib.tensor([0.0], requires_grad=True)
    (row,) = gradviz.what_if((w.sqrt() * 0.0).sum()).arrivals
    assert row.did != row.did  # NaN stays what it is
    y = w
    for _ in range(3_000):
        y = y + 1.0
    assert gradviz.what_if(y.sum()).arrivals[0].did == 1.0


def test_a_reentrant_checkpoint_is_refused():
    torch = pytest.importorskip("torch")
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    loss = checkpoint(layer, x, use_reentrant=True).sum()
    with pytest.raises(CaptureError, match="use_reentrant=False"):
        _ = gradviz.what_if(loss).arrivals
    assert layer.weight.grad is None
    kept = checkpoint(layer, x, use_reentrant=False).sum()
    assert len(gradviz.what_if(kept).arrivals) == 3
