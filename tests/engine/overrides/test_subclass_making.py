"""Making tensors and parameters of tensors of users' classes, beside PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ..oracle import assert_same


def silent(t: Any) -> Any:
    """Return a subclass without a mind of its own."""
    return type("Silent", (t.Tensor,), {})


def shy(t: Any) -> Any:
    """Return a subclass of which every call makes plain tensors."""

    class Shy(t.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            with t._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    return Shy


@pytest.mark.parametrize("kind", [silent, shy])
def test_a_tensor_made_of_a_tensor_is_a_view_with_its_history(kind: Any) -> None:
    def program(t: Any) -> Any:
        start = t.ones(2, requires_grad=True)
        made = kind(t)(start * 2)
        (made.as_subclass(t.Tensor) ** 2).sum().backward()
        base = t.zeros(2)
        part = kind(t)(base)
        shared = part._base is base, made.grad_fn.name(), t.Tensor(start).is_leaf
        return start.grad, shared

    assert_same(program)


@pytest.mark.parametrize("kind", [silent, shy])
@pytest.mark.parametrize(
    "make",
    [
        lambda t, s, x: t.Tensor(x),
        lambda t, s, x: s(x),
        lambda t, s, x: s(t.ones(2)),
        lambda t, s, x: t.nn.Parameter(x),
        lambda t, s, x: t.nn.Parameter(x, requires_grad=False),
    ],
)
def test_the_class_asked_for_is_the_class_made(kind: Any, make: Any) -> None:
    def program(t: Any) -> Any:
        subclass = kind(t)
        found = make(t, subclass, t.ones(2).as_subclass(subclass))
        parameter = isinstance(found, t.nn.Parameter)
        return type(found).__name__, parameter, found.requires_grad, found.tolist()

    assert_same(program)


@pytest.mark.parametrize("own", [False, True])
def test_a_copy_is_made_of_what_new_empty_gives(own: bool) -> None:
    def program(t: Any) -> Any:
        class Own(t.Tensor):
            def new_empty(self, shape: Any) -> Any:
                return type(self)(t.empty(shape))

        x = (Own if own else silent(t))(t.ones(2))
        x.note = ["kept"]
        twin = copy.deepcopy(x)
        return type(twin).__name__, twin.tolist(), twin.note, twin.note is x.note

    assert_same(program)


def test_a_class_keeps_what_it_likes_under_names_of_ours() -> None:
    def program(t: Any) -> Any:
        class Labelled(t.Tensor):
            @property
            def labels(self) -> Any:
                return self._view, self._memory

            def label(self, data: Any) -> Any:
                self._data, self._view, self._memory = data, "view", [data]
                return self

        x = Labelled(t.ones(2)).label("data")
        y = x * 2
        twin = copy.copy(x)
        del x._data
        found = hasattr(x, "_data"), hasattr(y, "_view"), y.tolist(), x[0].item()
        return found, x.labels, twin._data, twin.labels

    assert_same(program)
