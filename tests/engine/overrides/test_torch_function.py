"""Tensors of the user's classes keep their class through ops, as PyTorch's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..oracle import assert_equal

torch = pytest.importorskip("torch")


def marked(t: Any) -> Any:
    class Marked(t.Tensor):
        pass

    return Marked


RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "a + 1": lambda t, a: a + 1,
    "1 + a": lambda t, a: 1 + a,
    "plain * a": lambda t, a: t.ones(2) * a,
    "parameter * a": lambda t, a: t.nn.Parameter(t.ones(2)) * a,
    "a @ a": lambda t, a: a @ a,
    "sum": lambda t, a: a.sum(),
    "mean": lambda t, a: a.mean(),
    "view": lambda t, a: a.view(2, 1),
    "a[0]": lambda t, a: a[0],
    "a[a > 0]": lambda t, a: a[a > 0],
    "chunk": lambda t, a: a.chunk(2)[0],
    "cat": lambda t, a: t.cat([t.ones(2), a]),
    "max": lambda t, a: a.max(0).values,
    "to": lambda t, a: a.to(t.float64),
    "detach": lambda t, a: a.detach(),
    "clone": lambda t, a: a.clone(),
    "zeros_like": lambda t, a: t.zeros_like(a),
    "add_": lambda t, a: a.add_(1),
    "linear": lambda t, a: t.nn.functional.linear(a, t.ones(3, 2)),
    "numpy": lambda t, a: a.numpy(),
    "tolist": lambda t, a: a.tolist(),
    "data": lambda t, a: t.nn.Parameter(a.as_subclass(t.Tensor)) * 2,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_the_class_of_the_operand(name: str):
    assert_equal(
        lambda t: type(RESULTS[name](t, t.ones(2).as_subclass(marked(t)))).__name__
    )


def test_a_class_shows_its_name_and_history():
    def program(t: Any) -> Any:
        a = t.ones(2).as_subclass(marked(t)).requires_grad_()
        found = a * 2
        found.sum().backward()
        return repr(a), repr(found), repr(a.grad), type(a.grad) is t.Tensor

    assert_equal(program)


def test_a_class_sees_which_ops_run():
    def program(t: Any) -> Any:
        seen: list[Any] = []

        class Watching(t.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append((func.__name__, [kind.__name__ for kind in types]))
                return super().__torch_function__(func, types, args, kwargs)

        a = t.ones(2).as_subclass(Watching)
        found = t.add(a, 1).exp() * a
        t.cat([found, t.ones(1)]).sum()
        return seen, type(found).__name__

    assert_equal(program)


def test_a_class_answers_in_the_place_of_functions():
    def program(t: Any) -> Any:
        answers = {t.add: lambda a, b: ("sum", b), t.mean: lambda a: "mean"}

        class Odd(t.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if func in answers:
                    return answers[func](*args, **(kwargs or {}))
                return super().__torch_function__(func, types, args, kwargs)

        a = t.ones(2).as_subclass(Odd)
        return t.add(a, 1), t.mean(a), type(a * 2).__name__

    assert_equal(program)


def test_of_two_classes_the_narrower_one_wins():
    def program(t: Any) -> Any:
        wide = marked(t)

        class Narrow(wide):  # type: ignore[misc, valid-type]
            pass

        a, b = t.ones(2).as_subclass(wide), t.ones(2).as_subclass(Narrow)
        return type(a + b).__name__, type(b + a).__name__

    assert_equal(program)


def test_two_classes_that_do_not_know_each_other_are_refused():
    def program(t: Any) -> Any:
        class Other(t.Tensor):
            pass

        a, b = t.ones(2).as_subclass(marked(t)), t.ones(2).as_subclass(Other)
        with pytest.raises(TypeError) as operator:
            a + b
        with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch"):
            t.add(a, b)
        return str(operator.value)

    assert_equal(program)


def test_parameters_and_their_subclasses_give_plain_tensors():
    def program(t: Any) -> Any:
        class Own(t.nn.Parameter):
            pass

        own, usual = Own(t.ones(2)), t.nn.Parameter(t.ones(2))
        return [type(x) is t.Tensor for x in (own * 2, own.detach(), usual.clone())]

    assert_equal(program)


def test_classes_are_left_aside_where_that_is_asked_for():
    def program(t: Any) -> Any:
        a = t.ones(2).as_subclass(marked(t))
        with t._C.DisableTorchFunctionSubclass():
            inside = type(a + 1) is t.Tensor
        return inside, type(a + 1).__name__

    assert_equal(program)


def test_functions_that_return_their_input_keep_its_class():
    def program(t: Any) -> Any:
        class Same(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad

        a = t.ones(2).as_subclass(marked(t))
        return [type(Same.apply(x)).__name__ for x in (a, a.requires_grad_())]

    assert_equal(program)


def test_parameters_of_users_classes_show_the_class():
    def program(t: Any) -> Any:
        class Own(t.nn.Parameter):
            pass

        of_marked = t.nn.Parameter(t.ones(2).as_subclass(marked(t)))
        return repr(Own(t.ones(2))), repr(of_marked), repr(t.nn.Parameter(t.ones(1)))

    assert_equal(program)


def test_a_class_that_raises_a_type_error_leaves_operators_to_the_other():
    def program(t: Any) -> Any:
        class Picky(t.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if func in (t.add, t.Tensor.add):
                    raise TypeError("not these")
                return super().__torch_function__(func, types, args, kwargs)

        a = t.ones(2).as_subclass(Picky)
        with pytest.raises(TypeError, match="unsupported operand") as operator:
            print(a + a)
        with pytest.raises(TypeError, match="not these"):
            t.add(a, a)
        return str(operator.value)

    assert_equal(program)
