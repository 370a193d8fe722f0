"""Modes and classes that answer for functions see what PyTorch's see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradtape
import gradtape.overrides

from ..oracle import assert_equal

torch = pytest.importorskip("torch")


def diagonal(t: Any, handled: dict[Any, Any]) -> Any:
    """Return a class that is no tensor and answers for some functions."""

    class Diagonal:
        def __init__(self, size: int, value: float) -> None:
            self.size, self.value = size, value

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func not in handled:
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    return Diagonal


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda t, d: t.mean(d),
    "add": lambda t, d: t.add(d, d),
    "a tensor first": lambda t, d: t.add(t.ones(2), d),
    "an operator": lambda t, d: t.ones(2) + d,
    "in a list": lambda t, d: t.stack([t.ones(2), d], dim=1),
    "a layer": lambda t, d: t.nn.functional.relu(d),
    "by keyword": lambda t, d: t.nn.functional.cross_entropy(input=d, target=None),
    "a method's name": lambda t, d: t.Tensor.add(t.ones(1), d),
    "linalg": lambda t, d: t.linalg.norm(d),
    "flatten": lambda t, d: t.flatten(d),
}


@pytest.mark.parametrize("name", CALLS)
def test_objects_that_are_no_tensors_answer_for_functions(name: str):
    def program(t: Any) -> Any:
        def said(*args: Any, **kwargs: Any) -> Any:
            kinds = [type(arg).__name__ for arg in args]
            return kinds, sorted(kwargs)

        functional = t.nn.functional
        known = (t.mean, t.add, t.Tensor.add, t.stack, t.linalg.norm, t.flatten)
        layers = (functional.relu, functional.cross_entropy)
        handled = dict.fromkeys((*known, *layers), said)
        return CALLS[name](t, diagonal(t, handled)(2, 3.0))

    assert_equal(program)


def test_a_function_nobody_answers_for_is_refused_by_its_name():
    def program(t: Any) -> Any:
        d = diagonal(t, {})(2, 3.0)
        messages: list[str] = []
        for call in (lambda: t.mul(d, 2), lambda: t.nn.functional.silu(d)):
            with pytest.raises(TypeError) as caught:
                call()
            messages.append(str(caught.value).splitlines()[0])
        with pytest.raises(TypeError, match="unsupported operand"):
            print(t.ones(1) * d)
        return messages

    assert_equal(program)


def named(t: Any) -> tuple[Any, list[Any]]:
    """Return a mode that writes down the names of what it sees."""
    seen: list[Any] = []
    overrides = t.overrides

    class Names(overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append((overrides.resolve_name(func), len(args), kwargs))
            return func(*args, **(kwargs or {}))

    return Names(), seen


def work(t: Any) -> Any:
    x = t.ones(3, 4)
    y = (x * 2 - 1).view(-1)
    y[0] = 5
    y.add_(1)
    z = 2 / t.cat([y, y]).reshape(6, 4) + -y[:4]
    w = t.nn.functional.linear(z, t.full((2, 4), 0.5))
    loss = t.nn.functional.cross_entropy(w, t.tensor([0, 1, 1, 0, 1, 0]))
    return loss.item(), x.shape, w.T.dtype, abs(w).max().tolist()


def test_a_mode_sees_every_call_once_by_its_name():
    def program(t: Any) -> Any:
        mode, seen = named(t)
        with mode:
            shown = work(t)
        return shown[1:2], seen

    assert_equal(program)


def test_a_mode_sees_what_layers_and_optimizers_do_not_hide():
    def program(t: Any) -> Any:
        mode, seen = named(t)
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.Linear(3, 2), t.nn.ReLU(), t.nn.Flatten())
        x = t.ones(2, 3)
        with mode:
            model(x).sum().backward()
        return [name for name, *_ in seen], model[0].bias.grad is not None

    assert_equal(program)


def test_a_mode_changes_arguments_and_results():
    def program(t: Any) -> Any:
        class Wider(t.overrides.TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                kwargs = dict(kwargs or {})
                if func in (t.zeros, t.ones):
                    kwargs.setdefault("dtype", t.float64)
                found = func(*args, **kwargs)
                return found + 1 if func is t.exp else found

        with Wider():
            inside = t.zeros(1).dtype, t.rand(1).dtype, t.exp(t.zeros(1)).tolist()
        return str(inside), t.exp(t.zeros(1)).tolist()

    assert_equal(program)


def test_modes_nest_and_end_with_their_blocks():
    def program(t: Any) -> Any:
        (outer, first), (inner, second) = named(t), named(t)
        with outer:
            with inner:
                t.ones(1)
            t.zeros(1)
        t.rand(1)
        return [len(first), len(second)]

    assert_equal(program)


def test_a_mode_ends_where_its_block_raises():
    def program(t: Any) -> Any:
        mode, seen = named(t)
        with pytest.raises(ZeroDivisionError), mode:
            raise ZeroDivisionError
        t.ones(1)
        return seen

    assert_equal(program)


def test_a_class_of_tensors_sees_whole_functions_and_attributes():
    def program(t: Any) -> Any:
        seen: list[Any] = []

        class Watching(t.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(t.overrides.resolve_name(func))
                return super().__torch_function__(func, types, args, kwargs)

        x = t.ones(2, 2).as_subclass(Watching)
        assert x.shape
        assert not x.requires_grad
        assert x.numel() == 4
        assert x[0].tolist() == [1, 1]
        t.nn.functional.softmax(x, 1).norm()
        t.nn.functional.dropout(x, training=False).split(1)
        return seen

    assert_equal(program)


def test_functions_of_users_take_part():
    def program(t: Any) -> Any:
        def double(a: Any, b: Any = 1) -> Any:
            if t.overrides.has_torch_function((a,)):
                return t.overrides.handle_torch_function(double, (a,), a, b=b)
            return a * 2 + b

        @t.overrides.wrap_torch_function(lambda a: (a,))
        def triple(a: Any) -> Any:
            return a * 3

        seen = diagonal(t, {double: lambda a, b: ("double", b), triple: lambda a: 3})
        d = seen(1, 1.0)
        with pytest.raises(TypeError, match="expected a sequence"):
            t.overrides.has_torch_function(d)
        plain = double(t.ones(1)).tolist(), triple(t.ones(1)).tolist()
        return double(d), triple(d), plain

    assert_equal(program)


def test_what_is_like_a_tensor():
    def program(t: Any) -> Any:
        alike = t.overrides.is_tensor_like
        d = diagonal(t, {})(1, 1.0)
        return [alike(v) for v in (t.ones(1), t.nn.Parameter(t.ones(1)), d, 1, [d])]

    assert_equal(program)


def test_methods_are_told_from_functions():
    def program(t: Any) -> Any:
        method = t.overrides.is_tensor_method_or_property
        asked = (t.add, t.Tensor.add, t.Tensor.add_, t.Tensor.shape.__get__)
        name = t.overrides.resolve_name
        return [method(f) for f in asked], [name(f) for f in asked], t.Tensor is t.add

    assert_equal(program)


def test_classes_and_modes_are_left_aside_where_that_is_asked_for():
    def program(t: Any) -> Any:
        mode, seen = named(t)

        class Marked(t.Tensor):
            pass

        x = t.ones(1).as_subclass(Marked)
        with mode, t._C.DisableTorchFunction():
            plain = type(x + 1) is t.Tensor
        with t._C.DisableTorchFunctionSubclass(), t._C._EnableTorchFunction():
            again = type(x + 1) is Marked
        return plain, again, seen

    assert_equal(program)


def test_plain_methods_are_warned_of():
    def program(t: Any) -> Any:
        class Old:
            def __torch_function__(self, *args: Any, **kwargs: Any) -> Any:
                return -1

        with pytest.warns(DeprecationWarning, match="as a plain method"):
            t.nn.functional.dropout(Old())
        with pytest.warns(UserWarning, match="as a plain method"):
            t.abs(Old())

    assert_equal(program)


def test_every_function_that_asks_can_be_answered_for():
    """Each of the functions in the list gets to the class of an operand."""
    asked: list[Any] = []

    class Answering:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            asked.append(func)
            return -1

    overrides = gradtape.overrides
    listed = overrides.get_testing_overrides()
    assert len(listed) > 1200
    for function, answer in listed.items():
        code = answer.__code__
        needed = code.co_argcount - len(answer.__defaults__ or ())
        value = Answering()
        assert function(*[value] * (needed or 1)) in (-1, None)
        assert len(asked) == 1, function
        asked.clear()


def test_frames_of_functions_that_ask_can_be_read():
    """Debuggers and pytest list the locals of every frame that an error went by."""

    class Refusing:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            raise ValueError(func.__name__)

    with pytest.raises(ValueError, match="tensordot") as caught:
        gradtape.tensordot(Refusing(), Refusing())
    shown = [dict(entry.frame.f_locals) for entry in caught.traceback]
    assert any(len(each.get("args", ())) == 2 for each in shown)


def test_asking_leaves_signatures_and_results_as_they_are():
    import inspect

    gradtape.overrides.has_torch_function((1,))
    shown = str(inspect.signature(gradtape.nn.functional.relu))
    assert shown.startswith("(input")
    assert gradtape.relu.__name__ == "relu"
    assert gradtape.nn.functional.relu(gradtape.tensor([-1.0, 2.0])).tolist() == [0, 2]
