"""Functions of the user's own behave as PyTorch's: forward, saving, backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..ops.functions import exponential, make, square
from ..oracle import assert_same

Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def same(program: Program) -> Program:
    PROGRAMS.append(program)
    return program


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_as_pytorch(program: Program) -> None:
    assert_same(program)


def leaf(t: Any) -> Any:
    return t.tensor([1.0, 2.0, 3.0], requires_grad=True)


# ---- forward and backward ----------------------------------------------------------


@same
def saves_an_input(t: Any) -> Any:
    x = leaf(t)
    y = square(t).apply(x)
    y.sum().backward()
    return y, x.grad, y.grad_fn.name()


@same
def saves_an_output_and_is_differentiated_twice(t: Any) -> Any:
    x = leaf(t)
    y = exponential(t).apply(x)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return y, g, h


@same
def an_intermediate_has_no_history(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        between = x * x
        ctx.save_for_backward(between)
        return between * x

    x = leaf(t)
    y = make(t, forward, lambda ctx, g: 3 * g * ctx.saved_tensors[0]).apply(x)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return g, g.requires_grad


@same
def saved_tensors_are_the_ones_saved(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y, mask = x * 2, x > 1
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(y, None, x, mask)
        return y, mask

    x = leaf(t)
    y, mask = make(t, forward, lambda ctx, g, _: g).apply(x)
    saved = y.grad_fn.saved_tensors
    return (
        saved,
        saved[0] is y,
        saved[2] is x,
        saved[3] is mask,
        saved[0].grad_fn is y.grad_fn,
        mask.requires_grad,
    )


@same
def a_separate_context(t: Any) -> Any:
    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(x: Any, factor: float = 2.0) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append((type(inputs).__name__, t.is_grad_enabled(), output.grad_fn))
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append((ctx.factor, ctx.needs_input_grad))
            return grad * ctx.factor, None

    seen: list[Any] = []
    x = leaf(t)
    results = [Scaled.apply(x), Scaled.apply(x, 3.0), Scaled.apply(x=x, factor=4.0)]
    t.cat(results).sum().backward()
    return results, x.grad, seen


@same
def arguments_by_name(t: Any) -> Any:
    def forward(ctx: Any, x: Any, a: float, b: Any) -> Any:
        return x * a + b

    fn, x = make(t, forward, lambda ctx, g: (g * 2, None, g)), leaf(t)
    y = fn.apply(x, b=x, a=2.0)
    return y, t.autograd.grad(y.sum(), x), len(y.grad_fn.next_functions)


@pytest.mark.parametrize(
    "call",
    [
        lambda fn, x: fn.apply(x, c=1),
        lambda fn, x: fn.apply(x, 1, a=1),
        lambda fn, x: fn.apply(x, b=1),
        lambda fn, x: fn.apply(a=1, b=1),
    ],
)
def test_names_that_do_not_fit(call: Any) -> None:
    def forward(ctx: Any, x: Any, a: int = 1, b: int = 2) -> Any:
        return x * a * b

    assert_same(lambda t: call(make(t, forward), leaf(t)))


@same
def arguments_that_are_no_tensors(t: Any) -> Any:
    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return args[1] * args[3], None, [args[1]], "text"

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([g is None for g in grads])
        return None, grads[0] * 2, None, grads[0] * 3, None

    seen: list[Any] = []
    x, plain = leaf(t), t.ones(3)
    outputs = make(t, forward, backward).apply("a", x, (x,), plain, None)
    outputs[0].sum().backward()
    next_functions = outputs[0].grad_fn.next_functions
    return outputs, x.grad, plain.grad, seen, [n is None for n, _ in next_functions]


@same
def results_of_every_kind(t: Any) -> Any:
    x = leaf(t)
    results = [None, (), 3, {"a": 1}, [x * 2], (x * 2, (x * 3,))]
    return [make(t, lambda ctx, x, r=r: r).apply(x) for r in results]


@same
def grad_mode_in_forward_and_backward(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        seen.append(t.is_grad_enabled())
        with t.enable_grad():
            return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append((t.is_grad_enabled(), grad.requires_grad))
        return grad * 7

    seen: list[Any] = []
    x = leaf(t)
    y = make(t, forward, backward).apply(x)
    t.autograd.grad(y.sum(), x, retain_graph=True)
    return y, t.autograd.grad(y.sum(), x, create_graph=True), seen


@same
def nothing_to_record(t: Any) -> Any:
    fn, x = square(t), leaf(t)
    with t.no_grad():
        unrecorded = fn.apply(x)
    with t.inference_mode():
        inferred = fn.apply(x)
    return unrecorded, fn.apply(t.ones(2)), inferred.requires_grad


@same
def outputs_without_gradient(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        a, b, c = x * 2, x * 3, x.long()
        ctx.mark_non_differentiable(b)
        return a, b, c

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(grads)
        return grads[0]

    seen: list[Any] = []
    x = leaf(t)
    a, b, c = make(t, forward, backward).apply(x)
    a.backward(t.ones(3))
    return a, b, c, seen, x.grad


@same
def absent_gradients_as_none(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append((first, second))
        return second

    seen: list[Any] = []
    x = leaf(t)
    _, b = make(t, forward, backward).apply(x)
    b.backward(t.ones(3))
    return seen, x.grad


@same
def a_gradient_of_none_goes_on_as_zeros(t: Any) -> Any:
    seen: list[Any] = []
    first = make(t, lambda ctx, x: x * 2, lambda ctx, g: (seen.append(g), g)[1])
    second = make(t, lambda ctx, x: x * 2, lambda ctx, g: None)
    x, z = leaf(t), leaf(t)
    second.apply(first.apply(x)).sum().backward()
    second.apply(z).sum().backward()
    return seen, x.grad, z.grad


@same
def vjp_is_backward(t: Any) -> Any:
    x = leaf(t)
    fn = make(t, lambda ctx, x: x * 2, vjp=staticmethod(lambda ctx, g: g * 5))
    return t.autograd.grad(fn.apply(x).sum(), x)


@same
def a_subclass_has_a_node_of_its_own(t: Any) -> Any:
    first = square(t)
    second = type("Other", (first,), {"backward": staticmethod(lambda ctx, g: g)})
    x = leaf(t)
    a, b = first.apply(x), second.apply(x)
    names = a.grad_fn.name(), b.grad_fn.name(), a, b
    return names, [t.autograd.grad(each, x, t.ones(3)) for each in (a, b)]


@same
def backward_within_backward(t: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        with t.enable_grad():
            inner = leaf(t)
            square(t).apply(inner).sum().backward()
        return grad * inner.grad

    x = leaf(t)
    return t.autograd.grad(make(t, lambda ctx, x: x * 1, backward).apply(x).sum(), x)


@same
def ctx_is_the_node(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.own, ctx.metadata["note"] = 3, "seen"
        ctx.register_hook(lambda into, out: seen.append((into, out)))
        kept.append(ctx)
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        kept.append(ctx)
        return grad * ctx.own

    kept: list[Any] = []
    seen: list[Any] = []
    x = leaf(t)
    fn = make(t, forward, backward)
    y = fn.apply(x)
    y.backward(t.ones(3))
    node, function = y.grad_fn, t.autograd.function
    return (
        [each is node for each in kept],
        node.own,
        node.metadata,
        seen,
        isinstance(node, fn._backward_cls),
        isinstance(node, function.BackwardCFunction),
        isinstance(node, function.FunctionCtx),
        node._forward_cls is fn,
        type(fn) is function.FunctionMeta,
    )


@same
def what_the_class_offers(t: Any) -> Any:
    base = t.autograd.Function
    return (
        base.generate_vmap_rule,
        base.clear_saved_tensors_on_access,
        base.boxed_grads_call,
        square(t).apply.__name__,
    )


@same
def gradients_in_one_list(t: Any) -> Any:
    fn = make(
        t,
        lambda ctx, x: (x * 2, x * 3),
        lambda ctx, grads: grads.pop() + grads.pop(),
        boxed_grads_call=True,
    )
    x = leaf(t)
    a, b = fn.apply(x)
    (a + b).sum().backward()
    return x.grad


@same
def hooks_around_the_node(t: Any) -> Any:
    seen: list[Any] = []
    x = leaf(t)
    y = square(t).apply(x)
    y.register_hook(lambda g: seen.append(("tensor", g)))
    y.grad_fn.register_prehook(lambda g: seen.append(("before", g)))
    y.grad_fn.register_hook(lambda i, o: seen.append(("after", i, o)))
    y.backward(t.ones(3))
    return seen


# ---- once differentiable -----------------------------------------------------------


def once(t: Any) -> Any:
    @t.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        assert not t.is_grad_enabled()
        return grad * 2, None, grad * 3

    return make(t, lambda ctx, a, n, b: 2 * a + 3 * b, backward)


@same
def differentiated_once(t: Any) -> Any:
    x, w = leaf(t), leaf(t)
    y = once(t).apply(x, None, w)
    seed = t.ones(3, requires_grad=True)
    plain = t.autograd.grad(y.sum(), (x, w), create_graph=True)
    found = t.autograd.grad(y, (x, w), seed, create_graph=True)
    return plain, [g.requires_grad for g in found], found[0].grad_fn.name()


@same
def differentiated_twice(t: Any) -> Any:
    x, w = leaf(t), leaf(t)
    y = once(t).apply(x, None, w)
    (g,) = t.autograd.grad(y, x, t.ones(3, requires_grad=True), create_graph=True)
    g.sum().backward()
