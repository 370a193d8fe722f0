"""Names that PyTorch does not document, and that libraries call all the same."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

torch = pytest.importorskip("torch")

ENGINES = (gradtape, torch)


def both(program: Callable[[Any], Any]) -> None:
    """Check that a program gives the same under both engines."""
    mine, theirs = (program(t) for t in ENGINES)
    assert mine == theirs


def test_tensors_laid_end_to_end():
    def program(t: Any) -> Any:
        utils = importlib.import_module(f"{t.__name__}._utils")
        like = [t.ones(2, 2), t.zeros(0), t.tensor(3.0)]
        flat = utils._flatten_dense_tensors(like)
        parts = utils._unflatten_dense_tensors(t.arange(5.0), like)
        return flat.tolist(), type(parts).__name__, [p.tolist() for p in parts]

    both(program)


def test_parts_are_views_with_gradients():
    def program(t: Any) -> Any:
        utils = importlib.import_module(f"{t.__name__}._utils")
        flat = t.arange(3.0, requires_grad=True)
        first, second = utils._unflatten_dense_tensors(flat, [t.ones(2), t.ones(1)])
        (first * second).sum().backward()
        return flat.grad.tolist()

    both(program)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("uniform_", (-1.0, 1.0)),
        ("normal_", (0.0, 2.0)),
        ("trunc_normal_", (0.0, 1.0, -0.5, 0.5)),
        ("fill_", (3.0,)),
        ("zero_", ()),
    ],
)
def test_fillers_without_history(name: str, args: tuple[float, ...]):
    def program(t: Any) -> Any:
        t.manual_seed(0)
        weight = t.nn.Parameter(t.ones(2, 3))
        found = getattr(t.nn.init, f"_no_grad_{name}")(weight, *args)
        return found is weight, weight.is_leaf, weight.tolist()

    both(program)
