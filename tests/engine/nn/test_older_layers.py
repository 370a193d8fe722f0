"""Layers and transforms that few programs use give what PyTorch's give."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape

from ..oracle import assert_equal

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("size", "channels"), [(3, 2), (5, 3), (3, 6), (5, 7)])
def test_responses_across_channels(size: int, channels: int):
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.randn(2, channels, 3, 3, dtype=t.float64)
        layer = t.nn.CrossMapLRN2d(size, alpha=0.1, beta=0.6, k=1.1)
        return layer(x).detach().numpy().round(8).tolist(), repr(layer)

    assert_equal(program)


def test_responses_across_channels_have_their_gradient():
    """Which PyTorch's differ from, by its window's other end."""
    layer = gradtape.nn.CrossMapLRN2d(3, alpha=0.5)
    x = gradtape.randn(1, 5, 2, 2, dtype=gradtape.float64, requires_grad=True)
    assert gradtape.autograd.gradcheck(layer, (x,))


def test_responses_across_channels_want_four_dimensions():
    def program(t: Any) -> Any:
        with pytest.raises(ValueError, match="4D") as caught:
            t.nn.CrossMapLRN2d(3)(t.ones(2, 3))
        return str(caught.value)

    assert_equal(program)


def test_containers_by_keyword():
    def program(t: Any) -> Any:
        with pytest.warns(FutureWarning, match="deprecated"):
            made = t.nn.Container(a=t.nn.Linear(1, 2), b=t.nn.ReLU())
        return repr(made), list(made.state_dict())

    assert_equal(program)


def test_keywords_for_factories():
    def program(t: Any) -> Any:
        read = t.nn.factory_kwargs
        for bad in ({"size": 1}, {"dtype": 1, "factory_kwargs": {"dtype": 2}}):
            with pytest.raises(TypeError) as caught:
                read(bad)
            assert "kwargs" in str(caught.value)
        both_ways = {"device": "cpu", "factory_kwargs": {"dtype": 2}}
        return read(None), read(both_ways), str(caught.value)

    assert_equal(program)


def test_batch_norms_without_statistics():
    def program(t: Any) -> Any:
        inner = t.nn.Sequential(t.nn.BatchNorm1d(2), t.nn.Linear(2, 2))
        changed = t.func.replace_all_batch_norm_modules_(inner)
        return repr(changed), changed is inner, list(changed.state_dict())

    assert_equal(program)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_functions_freed_of_mutations_do_the_same(remove: str):
    def program(t: Any) -> Any:
        def work(a: Any, b: Any) -> Any:
            c = a + 1
            c.view(-1).add_(b)
            b.mul_(2)
            return c

        a, b = t.ones(3), t.ones(3)
        found = t.func.functionalize(work, remove=remove)(a, b)
        with pytest.raises(RuntimeError, match="invalid argument for remove=all"):
            t.func.functionalize(work, remove="all")
        return found.tolist(), a.tolist(), b.tolist()

    assert_equal(program)


def test_names_for_signatures():
    def program(t: Any) -> Any:
        import importlib

        name = t.__name__
        types = importlib.import_module(f"{name}.types")
        sizes = importlib.import_module(f"{name}.nn.common_types")
        return isinstance(2.5, types.Number), isinstance(3, sizes._size_2_t.__args__[0])

    assert_equal(program)
