"""vmap by its older path does what PyTorch's does there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

torch = pytest.importorskip("torch")

ENGINES = (gradtape, torch)


def both(program: Callable[[Any, Any], Any]) -> None:
    """Check that a program gives the same under both engines."""
    mine, theirs = (
        program(t, importlib.import_module(f"{t.__name__}._vmap_internals"))
        for t in ENGINES
    )
    assert mine == theirs


def test_it_warns_and_works():
    def program(t: Any, older: Any) -> Any:
        with pytest.warns(FutureWarning, match="Please use `torch.vmap`"):
            product = older.vmap(t.mul, in_dims=(0, None), out_dims=1)
        return product(t.ones(2, 3), t.arange(3.0)).tolist()

    both(program)


def test_absent_results_stay_absent_where_that_is_asked_for():
    def program(t: Any, older: Any) -> Any:
        several = older._vmap(
            lambda x: (x * 2, None), 0, 0, allow_none_pass_through=True
        )
        found, nothing = several(t.ones(2))
        return found.tolist(), nothing

    both(program)


REFUSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a number": lambda t, vmap, x: vmap(lambda a: 3.0)(x),
    "a number among tensors": lambda t, vmap, x: vmap(lambda a: (a, 3.0))(x),
    "a list": lambda t, vmap, x: vmap(lambda a: [a])(x),
    "no dimension": lambda t, vmap, x: vmap(t.sin, out_dims="one")(x),
    "None as a dimension": lambda t, vmap, x: vmap(t.sin, out_dims=(None,))(x),
    "too many dimensions": lambda t, vmap, x: vmap(t.sin, out_dims=(0, 0))(x),
    "too few": lambda t, vmap, x: vmap(lambda a: (a, a), out_dims=(0,))(x),
    "the last dimension": lambda t, vmap, x: vmap(t.sin, -1)(x),
    "a dimension in a tree": lambda t, vmap, x: vmap(lambda d: d, ({"a": 2},))(
        {"a": x}
    ),
    "a draw": lambda t, vmap, x: vmap(lambda a: a + t.rand(3))(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_in_words_of_its_own(name: str):
    def program(t: Any, older: Any) -> Any:
        with pytest.raises((RuntimeError, ValueError)) as raised:
            REFUSED[name](t, older._vmap, t.ones(2, 3))
        return str(raised.value)

    both(program)
