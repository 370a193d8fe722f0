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
