"""``.data``, ``grad_dtype`` and Variable, beside PyTorch."""

from __future__ import annotations

import pytest

from ..oracle import assert_same


def unbound_view_changed_through_data(t):
    b = t.arange(6.0)
    v = b[2:]
    v.data = t.zeros(3)
    v.add_(1)
    return v, b, v._version, b._version, v._is_view()


def saved_leaf_given_other_data(t):
    x = t.ones(2, requires_grad=True)
    y = (x * x).sum()
    x.data = t.full((2,), 5.0)
    y.backward()
    return x.grad


def data_of_another_dtype(t):
    x = t.ones(2, requires_grad=True)
    x.data = t.ones(3, dtype=t.float64)
    (x * 2).sum().backward()
    return x.grad


def data_that_is_no_tensor(t):
    t.ones(2).data = 3


def data_of_integers(t):
    t.ones(2, requires_grad=True).data = t.ones(2, dtype=t.int64)


def data_without_values(t):
    t.ones(2).data = t.ones(2, device="meta")


def data_with_values_for_none(t):
    t.ones(2, device="meta").data = t.ones(2)


def grad_dtype_chosen(t):
    x = t.ones(2, requires_grad=True)
    x.grad_dtype = t.float64
    (x * 2).sum().backward()
    return x.grad, x.grad_dtype, t.ones(1).grad_dtype


def grad_dtype_of_a_result(t):
    (t.ones(2, requires_grad=True) * 1).grad_dtype = t.float64


def grad_dtype_unlike_the_gradient(t):
    x = t.ones(2, requires_grad=True)
    x.grad = t.ones(2)
    x.grad_dtype = t.float64


def variables(t):
    variable = t.autograd.Variable
    x = t.ones(2)
    v = variable(x, requires_grad=True)
    kinds = [isinstance(each, variable) for each in (x, 3, v)]
    return (
        v,
        x.requires_grad,
        v is x,
        kinds,
        variable(),
        variable(data=x, name="n").name,
    )


def variable_of_a_list(t):
    t.autograd.Variable([1.0])


def variable_volatile(t):
    return t.autograd.Variable(t.ones(1), volatile=True)


def variable_of_integers(t):
    t.autograd.Variable(t.ones(2, dtype=t.int64), requires_grad=True)


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)
