"""A user-defined Function's mistakes, in PyTorch's words and with their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..ops.functions import make
from ..oracle import assert_same

Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def same(program: Program) -> Program:
    PROGRAMS.append(program)
    return program


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_as_pytorch(program: Program) -> None:
    assert_same(program)


def leaf(t: Any, dtype: str = "float32") -> Any:
    return t.ones(3, dtype=getattr(t, dtype), requires_grad=True)


RETURNED: dict[str, Callable[[Any, Any], Any]] = {
    "too many": lambda t, g: (g, g),
    "too many, but None": lambda t, g: (g, None),
    "none": lambda t, g: (),
    "a list": lambda t, g: [g],
    "a number": lambda t, g: 3.0,
    "too short": lambda t, g: g[:2],
    "one number": lambda t, g: g[:1],
    "no dimension": lambda t, g: g[0],
    "broadcast": lambda t, g: g.expand(2, 3),
    "integers": lambda t, g: t.ones(3, dtype=t.int64),
    "truths": lambda t, g: g > 0,
    "another float": lambda t, g: g.double(),
    "complex": lambda t, g: g.to(t.complex64),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("what", RETURNED)
def test_returned_gradients(what: str, create_graph: bool) -> None:
    def program(t: Any) -> Any:
        fn = make(t, lambda ctx, x: x * 2, lambda ctx, g: RETURNED[what](t, g))
        x = leaf(t)
        y = fn.apply(x)
        return t.autograd.grad(y, x, t.ones(3), create_graph=create_graph)[0].detach()

    assert_same(program)


@same
def a_real_gradient_of_complex_numbers(t: Any) -> Any:
    z = leaf(t, "complex64")
    fn = make(t, lambda ctx, z: z * 2, lambda ctx, g: t.ones(3))
    return t.autograd.grad(fn.apply(z), z, t.ones(3, dtype=t.complex64))


@same
def a_gradient_for_a_number(t: Any) -> Any:
    fn = make(t, lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    fn.apply(leaf(t), 2).sum().backward()


@same
def a_misfit_before_a_gradient_for_a_number(t: Any) -> Any:
    fn = make(t, lambda ctx, x, n: x * n, lambda ctx, g: (g[:2], g))
    fn.apply(leaf(t), 2).sum().backward()


@same
def a_misfit_where_no_gradient_is_wanted(t: Any) -> Any:
    x = leaf(t)
    fn = make(t, lambda ctx, a, b: a * b, lambda ctx, g: (g[:2], g))
    fn.apply(t.ones(3), x).sum().backward()
    return x.grad


@same
def no_backward(t: Any) -> Any:
    make(t, lambda ctx, x: x * 2).apply(leaf(t)).sum().backward()


@same
def no_forward(t: Any) -> Any:
    return type("Empty", (t.autograd.Function,), {}).apply(leaf(t))


@same
def backward_and_vjp(t: Any) -> Any:
    both = staticmethod(lambda ctx, g: g)
    fn = make(t, lambda ctx, x: x * 2, backward=both, vjp=both)
    fn.apply(leaf(t)).sum().backward()


@same
def an_instance(t: Any) -> Any:
    class Old(t.autograd.Function):
        def forward(self, x: Any) -> Any:
            return x * 2

    return Old()(leaf(t))


@same
def jvp_is_missing(t: Any) -> Any:
    return t.autograd.Function.jvp(None, 1)


@same
def vmap_is_missing(t: Any) -> Any:
    return t.autograd.Function.vmap(None, ())


@same
def setup_context_is_missing(t: Any) -> Any:
    return t.autograd.Function.setup_context(None, (), None)


@same
def saving_a_number(t: Any) -> Any:
    return make(t, lambda ctx, x: ctx.save_for_backward(x, 3)).apply(leaf(t))


@same
def saving_a_number_for_forward(t: Any) -> Any:
    return make(t, lambda ctx, x: ctx.save_for_forward(3)).apply(leaf(t))


@same
def an_error_in_forward(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        raise KeyError("mine")

    try:
        make(t, forward).apply(leaf(t))
    finally:
        assert t.is_grad_enabled()


@same
def an_error_in_backward(t: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("mine")

    make(t, lambda ctx, x: x * 2, backward).apply(leaf(t)).sum().backward()


@same
def shared_storage_is_no_news(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_shared_storage((x, x))
        return x * 2

    return make(t, forward).apply(leaf(t))


@same
def the_old_name_of_saved_tensors(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    return make(t, forward).apply(leaf(t)).grad_fn.saved_variables


@same
def names_nobody_may_write(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        for name in ("metadata", "next_functions", "saved_tensors"):
            try:
                setattr(ctx, name, 3)
            except AttributeError:
                refused.append(name)
        return x * 2

    refused: list[str] = []
    make(t, forward).apply(leaf(t))
    return refused


# ---- the place, which PyTorch does not tell ----------------------------------------


def raised_by(function: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the caller looks at it
        function()
    return caught.value


def line_of(function: Any, text: str) -> int:
    """Return the number of the line of ``function`` that contains ``text``."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


class Branching(gradtape.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, how: str) -> Any:
        ctx.how = how
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        def unrelated() -> Any:
            return 1, 2

        if ctx.how == "two":
            return grad, grad
        if ctx.how == "first":
            return grad[:2], None, None
        if ctx.how == "second":
            return None, grad[:2], None
        return grad, grad, unrelated()


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("two", "return grad, grad\n"),
        ("first", "return grad[:2], None"),
        ("second", "return None, grad[:2]"),
        ("third", "return grad, grad, unrelated"),
    ],
)
def test_the_line_of_the_return(how: str, text: str) -> None:
    x, y = leaf(gradtape), leaf(gradtape)
    loss = Branching.apply(x, y, how).sum()
    notes = raised_by(loss.backward).__notes__
    where = f"{__file__}:{line_of(Branching.backward, text)}"
    assert notes[0].startswith("returned by Branching.backward, ")
    assert where in notes[0]
    assert f"recorded at {__file__}:" in notes[1]


def test_every_error_of_backward_names_the_node() -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("mine")

    y = make(gradtape, lambda ctx, x: x * 2, backward).apply(leaf(gradtape))
    error = raised_by(y.sum().backward)
    assert error.args == ("mine",)
    (note,) = error.__notes__
    assert note.startswith(f"raised in FnBackward, recorded at {__file__}:")


def test_marks_that_are_no_tensors_are_named() -> None:
    cases: dict[str, Callable[[Any, Any], Any]] = {
        "mark_dirty can only accept variables, but argument 0 is of type int": (
            lambda ctx, x: ctx.mark_dirty(3)
        ),
        "mark_non_differentiable only accepts variable arguments, but got int": (
            lambda ctx, x: ctx.mark_non_differentiable(3)
        ),
        "to_save attribute is expected to be a tuple but is list": (
            lambda ctx, x: setattr(ctx, "to_save", [x])
        ),
    }
    for sentence, forward in cases.items():
        with pytest.raises(RuntimeError, match=sentence):
            make(gradtape, forward).apply(leaf(gradtape))
