"""Jacobians, Hessians and their products with vectors: beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same

PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
MATRICES = ("jacobian", "hessian")
Program = Callable[[Any], Any]


def vector(t: Any) -> Any:
    return t.tensor([1.0, 2.0, 3.0], dtype=t.float64)


def pair(t: Any) -> Any:
    return vector(t), t.tensor([[0.5, 2.0]], dtype=t.float64)


def cubes(x: Any) -> Any:
    return x * x * x


def several(x: Any, y: Any) -> Any:
    return x.exp().sum() * y, (x * x).sum(), x[:2] * y[0]


def scalar(x: Any, y: Any) -> Any:
    return (x**3).sum() * (y**2).sum()


def ones_like_all(t: Any, tensors: Any) -> Any:
    return tuple(t.ones_like(each) for each in tensors)


pytestmark = pytest.mark.usefixtures("warm_forward_mode")


# ---- values --------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobians_of_tuples_are_nested_tuples(create_graph: bool, vectorize: bool):
    def program(t: Any) -> Any:
        inputs = tuple(each.requires_grad_() for each in pair(t))
        return t.autograd.functional.jacobian(
            several, inputs, create_graph=create_graph, vectorize=vectorize
        )

    assert_same(lambda t: [[e.detach() for e in row] for row in program(t)])
    assert_same(lambda t: [[e.requires_grad for e in row] for row in program(t)])


@pytest.mark.parametrize("vectorize", [False, True])
def test_a_jacobian_has_the_output_s_shape_then_the_input_s(vectorize: bool):
    def program(t: Any) -> Any:
        x = t.arange(6.0).reshape(2, 3)
        return t.autograd.functional.jacobian(
            lambda x: (x * x).sum(1), x, vectorize=vectorize
        )

    assert program(gradtape).shape == (2, 2, 3)
    assert_same(program)


def test_forward_mode_gives_the_same_jacobian():
    for func in (lambda x, y: (x.exp(), x[:2] * y[0]), several):

        def program(t: Any, func: Any = func) -> Any:
            functional = t.autograd.functional
            return functional.jacobian(
                func, pair(t), vectorize=True, strategy="forward-mode"
            )

        assert_same(program)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_vectorized_hessians_are_those_row_by_row(strategy: str):
    def program(t: Any) -> Any:
        return t.autograd.functional.hessian(
            scalar, pair(t), vectorize=True, outer_jacobian_strategy=strategy
        )

    assert_same(program)
    slow = gradtape.autograd.functional.hessian(scalar, pair(gradtape))
    for fast_row, slow_row in zip(program(gradtape), slow, strict=True):
        for a, b in zip(fast_row, slow_row, strict=True):
            gradtape.testing.assert_close(a, b)


@pytest.mark.parametrize("create_graph", [False, True])
def test_hessians_of_tuples_are_nested_tuples(create_graph: bool):
    def program(t: Any) -> Any:
        inputs = tuple(each.requires_grad_() for each in pair(t))
        rows = t.autograd.functional.hessian(scalar, inputs, create_graph=create_graph)
        return [[(e.detach(), e.requires_grad) for e in row] for row in rows]

    assert_same(program)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_products_of_tuples(name: str, create_graph: bool):
    func: Any = scalar if name in ("vhp", "hvp") else several

    def program(t: Any) -> Any:
        inputs = tuple(each.requires_grad_() for each in pair(t))
        like = func(*inputs) if name == "vjp" else inputs
        product = getattr(t.autograd.functional, name)
        outputs, found = product(
            func, inputs, ones_like_all(t, like), create_graph=create_graph
        )
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [(e.detach(), e.requires_grad) for e in (*outputs, *found)]

    assert_same(program)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_can_be_differentiated_again(name: str):
    def program(t: Any) -> Any:
        x = vector(t).requires_grad_()
        func = (lambda x: (x**4).sum()) if name in ("vhp", "hvp") else cubes
        product = getattr(t.autograd.functional, name)
        _, found = product(func, x, t.ones_like(x), create_graph=True)
        return t.autograd.grad(found.sum(), x)[0] * 1

    assert_same(program)


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_can_be_differentiated_again(name: str):
    def program(t: Any) -> Any:
        x = vector(t).requires_grad_()
        func = (lambda x: (x**4).sum()) if name == "hessian" else cubes
        found = getattr(t.autograd.functional, name)(func, x, create_graph=True)
        return t.autograd.grad(found.sum(), x)[0] * 1

    assert_same(program)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_single_number_needs_no_vector(name: str):
    def program(t: Any) -> Any:
        x = t.tensor([3.0])
        return getattr(t.autograd.functional, name)(lambda x: (x**3).sum(), x)

    assert_same(program)


def test_complex_functions_have_complex_products():
    def program(t: Any) -> Any:
        z = t.tensor([1 + 2j, 3 - 1j], dtype=t.complex128)
        v = t.tensor([1j, 2.0], dtype=t.complex128)
        functional = t.autograd.functional
        return (
            functional.vjp(lambda z: z * z.conj() * 1j, z, v),
            functional.jvp(lambda z: z * z, z, v),
            functional.jacobian(lambda z: z * z, z),
        )

    assert_same(program)


def test_what_the_caller_s_tensor_adds_is_not_counted():
    def program(t: Any) -> Any:
        x = vector(t).requires_grad_()
        found = t.autograd.functional.vjp(
            lambda y: (x * y).sum(), x, create_graph=True
        )[1]
        return found.detach(), t.autograd.grad(found.sum(), x)

    assert_same(program)


def test_no_grad_around_leaves_the_result_right():
    def program(t: Any) -> Any:
        x = vector(t)
        functional = t.autograd.functional
        with t.no_grad():
            plain = functional.jacobian(cubes, x)
            x.requires_grad_()
            graph = functional.vjp(cubes, x, t.ones_like(x), create_graph=True)[1]
        return plain, graph.detach(), graph.requires_grad

    assert_same(program)


# ---- refusals ------------------------------------------------------------------------

ALL = (*PRODUCTS, *MATRICES)


def call(t: Any, name: str, func: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
    return getattr(t.autograd.functional, name)(func, inputs, *rest, **named)


@pytest.mark.parametrize("name", ALL)
def test_inputs_must_be_tensors(name: str):
    for inputs in (1.0, [1.0], lambda t: (t.ones(2), 3), lambda t: [t.ones(2)]):

        def program(t: Any, inputs: Any = inputs) -> Any:
            given = inputs(t) if callable(inputs) else inputs
            return call(t, name, lambda *x: x[0].sum(), given)

        assert_same(program)


@pytest.mark.parametrize("name", ALL)
def test_outputs_must_be_tensors(name: str):
    for outputs in (1.0, "text", (None,)):

        def program(t: Any, outputs: Any = outputs) -> Any:
            x = t.tensor([2.0])
            return call(t, name, lambda x: outputs, x)

        assert_same(lambda t, p=program: without_addresses(p, t))


def without_addresses(program: Program, t: Any) -> Any:
    try:
        return program(t)
    except (TypeError, RuntimeError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", PRODUCTS)
def test_vectors_must_fit(name: str):
    func = (lambda x: (x * x).sum()) if name in ("vhp", "hvp") else cubes
    vectors = (
        lambda t: t.ones(2),
        lambda t: (t.ones(3, dtype=t.float64), t.ones(3)),
        lambda t: 1.0,
        lambda t: None,
        lambda t: (t.ones(2),),
    )
    for v in vectors:
        assert_same(lambda t, v=v: call(t, name, func, vector(t), v(t)))
    two = scalar if name in ("vhp", "hvp") else lambda x, y: (x * 2, y * 3)
    for v in (lambda t: t.ones(3), lambda t: (t.ones(3), t.ones(2))):
        assert_same(lambda t, v=v: call(t, name, two, pair(t), v(t)))


@pytest.mark.parametrize("name", ["vhp", "hvp", "hessian"])
def test_hessians_need_one_number(name: str):
    rest = lambda t: () if name == "hessian" else (t.ones(3, dtype=t.float64),)  # noqa: E731
    assert_same(lambda t: call(t, name, cubes, vector(t), *rest(t)))
    tuples = lambda x: (x.sum(), x.sum())  # noqa: E731
    assert_same(lambda t: call(t, name, tuples, vector(t), *rest(t)))


def strict_functions(t: Any) -> dict[str, Callable[[Any], Any]]:
    return {
        "detached": lambda x: x.detach().sum(),
        "constant": lambda x: t.zeros((), dtype=t.float64, requires_grad=True) + 1,
        "linear": lambda x: 3 * x.sum(),
        "square": lambda x: (x * x).sum(),
    }


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("function", ["detached", "constant", "linear", "square"])
@pytest.mark.parametrize("strict", [False, True])
def test_strict_refuses_what_is_independent(
    name: str, create_graph: bool, function: str, strict: bool
):
    def program(t: Any) -> Any:
        x = vector(t).requires_grad_()
        func = strict_functions(t)[function]
        v = {"vjp": None, "jacobian": None, "hessian": None}.get(name, t.ones_like(x))
        rest = () if v is None else (v,)
        found = call(t, name, func, x, *rest, create_graph=create_graph, strict=strict)
        each = found if isinstance(found, tuple) else (found,)
        return [(e.detach(), e.requires_grad) for e in each]

    assert_same(program)


def test_options_that_exclude_each_other():
    programs: tuple[Program, ...] = (
        lambda t: call(t, "jacobian", cubes, vector(t), strict=True, vectorize=True),
        lambda t: call(t, "jacobian", cubes, vector(t), strategy="backward"),
        lambda t: call(t, "jacobian", cubes, vector(t), strategy="forward-mode"),
        lambda t: call(
            t, "jacobian", cubes, vector(t), strategy="forward-mode", strict=True
        ),
        lambda t: call(
            t, "jacobian", cubes, vector(t), strategy="forward-mode", create_graph=True
        ),
        lambda t: call(
            t,
            "hessian",
            lambda x: x.sum(),
            vector(t),
            outer_jacobian_strategy="backward",
        ),
        lambda t: call(
            t,
            "hessian",
            lambda x: x.sum(),
            vector(t),
            outer_jacobian_strategy="forward-mode",
        ),
        lambda t: call(t, "jacobian", lambda x: x[:0], vector(t)),
    )
    for program in programs:
        assert_same(program)
