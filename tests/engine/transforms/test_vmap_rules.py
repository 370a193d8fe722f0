"""Rules for batches, ``Function.vmap`` and ``register_vmap``, beside PyTorch's."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..ops.functions import make

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
"""PyTorch's forward mode warns so."""

Program = Callable[[Any, Any, Any, Any], Any]


def cube(t: Any, calls: list[Any]) -> Any:
    """Return a Function's apply; its rule takes down what it is given."""

    def forward(x: Any) -> Any:
        calls.append("forward")
        return x**3

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    def derivative(ctx: Any, given: Any) -> Any:
        (x,) = ctx.saved_tensors
        return given * 3 * x * x

    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        calls.append((tuple(info), in_dims, tuple(x.shape), x.requires_grad))
        return apply(x), in_dims[0]

    more: dict[str, Callable[..., Any]]
    more = {"setup_context": setup_context, "jvp": derivative, "vmap": vmap}
    members = {name: staticmethod(each) for name, each in more.items()}
    apply = make(t, forward, derivative, **members).apply
    return apply


def ruled(t: Any, answer: Callable[..., Any]) -> Any:
    """Return a Function's apply whose rule is to return this."""
    members = {"setup_context": lambda ctx, inputs, output: None, "vmap": answer}
    staticmethods = {name: staticmethod(each) for name, each in members.items()}
    return make(t, lambda *args: None, lambda ctx, grad: None, **staticmethods).apply


def outcome(t: Any, program: Program) -> Any:
    calls: list[Any] = []
    t.manual_seed(0)
    x = t.arange(6.0).reshape(3, 2)
    try:
        found = program(t, cube(t, calls), x, t.func.grad)
    except (RuntimeError, ValueError) as error:
        return str(error).replace("gradtape.Tensor", "torch.Tensor"), calls
    several = found if isinstance(found, tuple) else (found,)
    return [each.tolist() for each in several], calls


PROGRAMS: dict[str, Program] = {
    "alone": lambda t, f, x, grad: t.vmap(f)(x),
    "in another dimension": lambda t, f, x, grad: t.vmap(f, 1, 1)(x),
    "twice, of results": lambda t, f, x, grad: t.vmap(lambda a: f(a * 2) + f(a.sum()))(
        x
    ),
    "of what the inner vmap does not map": lambda t, f, x, grad: t.vmap(
        lambda a: t.vmap(lambda b: f(a) + b)(a)
    )(x),
    "of nothing mapped": lambda t, f, x, grad: t.vmap(lambda a: f(t.ones(2)) + a)(x),
    "of one example": lambda t, f, x, grad: t.vmap(f)(x[:1]),
    "by chunks": lambda t, f, x, grad: t.vmap(f, chunk_size=2)(x),
    "differentiated inside": lambda t, f, x, grad: t.vmap(grad(lambda a: f(a).sum()))(
        x
    ),
    "twice differentiated inside": lambda t, f, x, grad: t.vmap(
        grad(lambda a: grad(lambda b: f(b).sum())(a).sum())
    )(x),
    "differentiated outside": lambda t, f, x, grad: grad(lambda y: t.vmap(f)(y).sum())(
        x
    ),
    "pushed forward inside": lambda t, f, x, grad: t.vmap(
        lambda a: t.func.jvp(f, (a,), (a,))
    )(x),
    "pushed forward outside": lambda t, f, x, grad: t.func.jvp(t.vmap(f), (x,), (x,)),
    "between different draws": lambda t, f, x, grad: t.vmap(
        lambda a: t.rand(2) + f(a) + t.rand(2), randomness="different"
    )(x),
    "between the same draws": lambda t, f, x, grad: t.vmap(
        lambda a: t.rand(2) + f(a) + t.rand(2), randomness="same"
    )(x),
    "written to": lambda t, f, x, grad: t.vmap(lambda a: f(a).add_(1) * a)(x),
    "written to and differentiated": lambda t, f, x, grad: t.vmap(
        grad(lambda a: (f(a).add_(1) * a).sum())
    )(x),
    "with its input as the answer": lambda t, f, x, grad: t.vmap(
        ruled(t, lambda info, dims, a, b: ((a, b), dims))
    )(x, [x, x])[1][0],
    "with an answer for all": lambda t, f, x, grad: t.vmap(
        ruled(t, lambda info, dims, a: (a + 1, None))
    )(x),
    "with one return": lambda t, f, x, grad: t.vmap(ruled(t, lambda info, dims, a: a))(
        x
    ),
    "with three": lambda t, f, x, grad: t.vmap(
        ruled(t, lambda info, dims, a: (a, 0, 0))
    )(x),
    "with dimensions that do not fit": lambda t, f, x, grad: t.vmap(
        ruled(t, lambda info, dims, a: (a + 1, (None,)))
    )(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_rule_for_batches_is_asked_once_for_all(name: str):
    found, wanted = (outcome(t, PROGRAMS[name]) for t in (gradtape, torch))
    assert found == wanted


def test_no_level_of_duals_stays_open():
    outcome(gradtape, PROGRAMS["pushed forward inside"])
    outcome(gradtape, PROGRAMS["pushed forward outside"])
    assert gradtape.autograd.forward_ad._current_level == -1


def test_rules_of_nested_vmaps_ask_each_other():
    found, wanted = (
        outcome(t, lambda t, f, x, grad: t.vmap(t.vmap(f))(x))
        for t in (gradtape, torch)
    )
    assert found[0] == wanted[0]
    assert found[1][-2:] == wanted[1][-2:]  # where PyTorch asks the inner rule once


def test_examples_are_freed_with_their_results():
    x = gradtape.ones(3, requires_grad=True) * 1
    kept = weakref.ref(x)
    gc.collect()
    gc.disable()
    try:
        found = gradtape.vmap(cube(gradtape, []))(x)
        del x, found
        assert kept() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("where", ["rule", "after"])
def test_an_error_ends_all_examples(where: str):
    def program(x: Any) -> Any:
        answer(x)
        raise ValueError("later")

    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        if where == "rule":
            raise ValueError("in the rule")
        return x + 1, 0

    answer, before = ruled(gradtape, rule), threading.active_count()
    with pytest.raises(ValueError, match=r"later|in the rule"):
        gradtape.vmap(program)(gradtape.ones(4))
    assert threading.active_count() == before


def test_examples_that_part_company_are_refused():
    f, seen = cube(gradtape, []), []

    def program(x: Any) -> Any:
        seen.append(x)
        return f(x) if len(seen) < 3 else x

    with pytest.raises(RuntimeError, match="do not all call the same"):
        gradtape.vmap(program)(gradtape.ones(4))


@pytest.mark.parametrize("named", [{}, {"scale": 3}])
def test_the_rule_of_an_op_is_asked(named: dict[str, int]):
    def program(t: Any) -> Any:
        seen: list[Any] = []

        def times(x: Any, y: Any, *, scale: int = 2) -> Any:
            return x * y * scale

        def rule(info: Any, in_dims: Any, x: Any, y: Any, *, scale: int = 2) -> Any:
            seen.append((tuple(info), in_dims, tuple(x.shape), tuple(y.shape), scale))
            return x.movedim(in_dims[0], 0) * y * scale, 0

        tensors = dict.fromkeys(("x", "y", "return"), t.Tensor)
        times.__annotations__ = {**tensors, "scale": int}
        name = f"gradtape_tests::times_{len(named)}"
        op = t.library.custom_op(name, times, mutates_args=())
        op.register_vmap(rule)
        x, y = t.arange(6.0).reshape(3, 2), t.arange(3.0)
        return t.vmap(lambda a, b: op(a, b, **named), (1, None))(x, y).tolist(), seen

    assert program(gradtape) == program(torch)
