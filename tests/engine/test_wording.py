"""Refusals and warnings around leaves and modes, to the last word of PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import gradtape as gt

from .oracle import assert_same

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16")
DTYPES = (*DTYPES, "float64", "complex64", "complex128")


def whole(t):
    return t.ones(2, dtype=t.int64)


REFUSED = {
    "flag set": lambda t: setattr(whole(t), "requires_grad", True),
    "flag switched": lambda t: whole(t).requires_grad_(),
    "new leaf": lambda t: t.ones(2, dtype=t.int64, requires_grad=True),
    "new parameter": lambda t: t.nn.Parameter(whole(t)),
    "mode of text": lambda t: t.set_grad_enabled("a"),
    "mode of a number": lambda t: t.set_grad_enabled(1),
    "anomaly of text": lambda t: t.autograd.set_detect_anomaly("a"),
    "NaN checks of a number": lambda t: t.autograd.set_detect_anomaly(True, 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_worded_alike(name: str):
    assert_same(REFUSED[name])
    assert gt.is_grad_enabled()
    assert not gt.is_anomaly_enabled()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_other_dtypes_are_named_as_in_cpp(dtype: str):
    def assign(t):
        t.ones(2, requires_grad=True).grad = t.ones(2).to(getattr(t, dtype))

    assert_same(assign)


@pytest.mark.parametrize("returned", [3, "text"])
def test_hooks_after_accumulation_return_nothing(returned: object):
    def program(t):
        x = t.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda _: returned)
        x.sum().backward()

    assert_same(program)


def said(t, call) -> list[str]:
    """Return what a call warns of, where nothing is said only once."""
    t.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(t)
    finally:
        t.set_warn_always(False)
    return [str(each.message).split(" (Triggered")[0] for each in caught]


def grad_in_another_layout(t, create_graph):
    x = t.ones(2, 3).t().clone().requires_grad_()
    x.grad = t.zeros(3, 2)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using backward")
        (x * 2).sum().backward(create_graph=create_graph)


WARNED = {
    "float of history": lambda t: float(t.ones(1, requires_grad=True)),
    "complex of history": lambda t: complex(t.ones(1, requires_grad=True) * 1),
    "int of history": lambda t: int(t.ones(1, requires_grad=True)),
    "item of history": lambda t: t.ones(1, requires_grad=True).item(),
    "float without": lambda t: float(t.ones(1)),
    "grad of a result": lambda t: (t.ones(1, requires_grad=True) * 1).grad,
    "grad lies badly": lambda t: grad_in_another_layout(t, create_graph=False),
    "recorded, lies badly": lambda t: grad_in_another_layout(t, create_graph=True),
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_are_worded_alike(name: str):
    torch = pytest.importorskip("torch")
    assert said(gt, WARNED[name]) == said(torch, WARNED[name])


def test_memory_taken_from_a_leaf_ends_its_gradient():
    def program(t):
        x, z = t.ones(3, requires_grad=True), t.zeros(3)
        z.set_(x)
        return z, z.grad_fn.next_functions[1][0]

    assert_same(program)
