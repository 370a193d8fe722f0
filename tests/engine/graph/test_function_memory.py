"""Views, in-place writes and saved tensors of user-defined Functions, as PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..ops.functions import doubled_in_place, exponential, make, square
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


def identity(t: Any) -> Any:
    return make(t, lambda ctx, x: x, lambda ctx, g: g * 2)


def head(t: Any) -> Any:
    """Return a Function whose output is a view of its input."""
    return make(t, lambda ctx, x: x[:2], lambda ctx, g: t.cat([g, g[:1]]))


# ---- inputs returned as they are, views of inputs ----------------------------------


@same
def an_input_returned(t: Any) -> Any:
    x = leaf(t)
    y = identity(t).apply(x)
    return y, y is x, y._base is x, t.autograd.grad(y, x, t.ones(3))


@same
def an_input_returned_twice(t: Any) -> Any:
    x = leaf(t)
    fn = make(t, lambda ctx, x: (x, x), lambda ctx, g, h: g * 2 + h * 3)
    y, z = fn.apply(x)
    return y is z, y.output_nr, z.output_nr, t.autograd.grad((y + z).sum(), x)


@same
def an_output_returned_twice(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    x = leaf(t)
    y, z = make(t, forward, lambda ctx, g, h: g * 2 + h * 3).apply(x)
    return y is z, y.output_nr, t.autograd.grad((y + z).sum(), x)


@same
def a_view_returned(t: Any) -> Any:
    x = leaf(t)
    y = head(t).apply(x)
    return y, y._base is x, t.autograd.grad(y, x, t.ones(2))


@same
def unrecorded_inputs_and_views(t: Any) -> Any:
    x, plain, found = leaf(t), t.ones(3), []
    for fn in (identity(t), head(t)):
        found.append(fn.apply(plain))
        with t.no_grad():
            found.append(fn.apply(x))
        found[0].mul_(2)
    return found, [each.requires_grad for each in found], plain


@same
def unmarked_inputs_and_views(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        view = x[:2]
        ctx.mark_non_differentiable(x, view)
        return x, view

    return make(t, forward).apply(leaf(t))


@pytest.mark.parametrize("written", ["output", "input"])
@pytest.mark.parametrize("kind", [identity, head])
@pytest.mark.parametrize("of_leaf", [True, False])
def test_writing_to_a_view_from_a_function(
    written: str, kind: Any, of_leaf: bool
) -> None:
    def program(t: Any) -> Any:
        x = leaf(t) if of_leaf else leaf(t).clone()
        y = kind(t).apply(x)
        (y if written == "output" else x).mul_(2)
        return y.grad_fn

    assert_same(program)


@pytest.mark.parametrize("number", [0, 1])
def test_writing_to_one_of_several_outputs(number: int) -> None:
    def program(t: Any) -> Any:
        fn = make(t, lambda ctx, x: (x[:2], x * 2), lambda ctx, g, h: h)
        outputs = fn.apply(leaf(t).clone())
        return outputs[number].mul_(2)

    assert_same(program)


@same
def writing_to_a_view_made_unrecorded(t: Any) -> Any:
    y = head(t).apply(t.ones(3))
    return y.mul_(t.ones(2, requires_grad=True))


@same
def writing_to_a_pure_view(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx._is_pure_view = True
        return x[:2]

    x = leaf(t).clone()
    y = make(t, forward, lambda ctx, g: t.cat([g, g[:1]])).apply(x)
    y.mul_(2)
    return y, x


@same
def saving_an_input_that_is_returned(t: Any) -> Any:
    class Same(t.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])

    return Same.apply(leaf(t))


# ---- in-place Functions ------------------------------------------------------------


@same
def in_place(t: Any) -> Any:
    x = leaf(t)
    a = x * 1
    a.retain_grad()
    y = doubled_in_place(t).apply(a)
    y.backward(t.ones(3))
    return y is a, a, a._version, a.retains_grad, a.grad, x.grad


@same
def in_place_on_a_leaf(t: Any) -> Any:
    return doubled_in_place(t).apply(leaf(t))


@same
def in_place_on_a_leaf_unrecorded(t: Any) -> Any:
    x = leaf(t)
    with t.no_grad():
        y = doubled_in_place(t).apply(x)
    return y is x, y, y._version


@same
def in_place_on_a_view(t: Any) -> Any:
    x = leaf(t)
    a = x * 1
    v = a[:2]
    y = doubled_in_place(t).apply(v)
    return y is v, y, a, v._version, t.autograd.grad(a, x, t.ones(3))


@pytest.mark.parametrize(
    "view",
    [
        "leaf(t)[:2]",
        "leaf(t).clone().unbind(0)[0]",
        "t.no_grad()(lambda: leaf(t).clone()[:2])()",
    ],
)
def test_in_place_on_a_forbidden_view(view: str) -> None:
    assert_same(lambda t: doubled_in_place(t).apply(eval(view, {"t": t, "leaf": leaf})))


@same
def in_place_on_a_view_with_two_outputs(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2), x * 2

    return make(t, forward).apply(leaf(t).clone()[:2])


@same
def in_place_on_several(t: Any) -> Any:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.mark_dirty(a, b)
        return b.mul_(3), a.mul_(2)

    x = leaf(t)
    a, b = x * 1, x * 1
    fn = make(t, forward, lambda ctx, g, h: (h * 2, g * 3))
    c, d = fn.apply(a, b)
    return c is b, d is a, c, d, t.autograd.grad((c + 2 * d).sum(), x)


@same
def in_place_with_a_factor_that_needs_a_gradient(t: Any) -> Any:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.mark_dirty(a)
        return a.mul_(b)

    x, a = leaf(t), t.ones(3)
    base = t.ones(3)
    fn = make(t, forward, lambda ctx, g: (g, g * 5))
    fn.apply(a, x)
    fn.apply(base[:2], x[:2])
    return a, base, t.autograd.grad((a + base).sum(), x)


@same
def in_place_without_returning(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 2

    return make(t, forward).apply(leaf(t).clone())


@same
def marking_what_is_no_input(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    y = make(t, forward).apply(leaf(t))
    return y, y._version


@same
def a_written_input_without_gradient(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x.mul_(2)

    a = leaf(t).clone()
    y = make(t, forward).apply(a)
    return y is a, y, a


@pytest.mark.parametrize("part", [slice(None), slice(2)])
def test_saving_what_was_written(part: slice) -> None:
    def program(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            ctx.save_for_backward(x.mul_(2))
            return x

        x = leaf(t)
        a = x * 1
        fn = make(t, forward, lambda ctx, g: g * ctx.saved_tensors[0])
        fn.apply(a[part] if part.stop else a)
        (g,) = t.autograd.grad(a, x, t.ones(3), create_graph=True)
        return g, t.autograd.grad(g.sum(), x)

    assert_same(program)


# ---- writes to what was saved, freeing ---------------------------------------------


def saving(t: Any, which: str) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        between, y, z = x * 3, x * 2, x * 4
        kept.append(between)
        saved = {"input": x, "between": between, "first": y, "second": z}[which]
        ctx.save_for_backward(saved)
        return y, z

    kept: list[Any] = []
    return make(t, forward, lambda ctx, g, h: (ctx.saved_tensors, g)[1]), kept


@pytest.mark.parametrize("which", ["input", "between", "first", "second"])
def test_writing_to_a_saved_tensor(which: str) -> None:
    def program(t: Any) -> None:
        fn, kept = saving(t, which)
        a = leaf(t) * 1
        y, z = fn.apply(a)
        loss = (y + z).sum()
        written = {"input": a, "between": kept[0], "first": y, "second": z}[which]
        with t.no_grad():
            written.add_(1)
        loss.backward()

    assert_same(program)


@same
def backward_twice(t: Any) -> Any:
    loss = square(t).apply(leaf(t)).sum()
    loss.backward()
    loss.backward()


@same
def backward_twice_with_nothing_saved(t: Any) -> Any:
    x = leaf(t)
    y = identity(t).apply(x)
    y.sum().backward()
    y.sum().backward()
    return x.grad


@same
def looking_at_freed_tensors(t: Any) -> Any:
    y = identity(t).apply(leaf(t))
    y.sum().backward()
    return y.grad_fn.saved_tensors


@same
def saved_tensors_to_be_read_once(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    fn = make(t, forward, backward, clear_saved_tensors_on_access=True)
    fn.apply(leaf(t)).sum().backward()


@same
def through_saved_tensor_hooks(t: Any) -> Any:
    seen: list[Any] = []

    def pack(tensor: Any) -> Any:
        seen.append(tensor.grad_fn)
        return tensor.detach().clone()

    x = leaf(t)
    with t.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept * 10):
        a, b = exponential(t).apply(x), square(t).apply(x * 1)
    (g,) = t.autograd.grad((a + b).sum(), x, create_graph=True)
    return a, b, g, t.autograd.grad(g.sum(), x), seen


@same
def hooks_on_one_saved_tensor(t: Any) -> Any:
    y = exponential(t).apply(leaf(t))
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda s: s * 3, lambda s: s)
    return y.grad_fn.saved_tensors
