"""gradcheck and gradgradcheck pass what is right, as PyTorch's do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
from gradtape.autograd import gradcheck, gradgradcheck
from gradtape.autograd.gradcheck import GradcheckError

from ..oracle import assert_same
from ..sparse._sparse_programs import repeated, settle
from .gradcheck_cases import both_modes, scaled, values

Program = Callable[[Any], Any]


settle()


pytestmark = pytest.mark.usefixtures("warm_forward_mode")


# ---- right derivatives pass ----------------------------------------------------------

RIGHT: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "one input": lambda t: (t.sin, values(t, 3)),
    "two inputs": lambda t: (lambda x, y: x * y.exp(), (values(t, 2, 3), values(t, 3))),
    "tuple out": lambda t: (lambda x: (x * x, x.sum()), values(t, 3)),
    "list in": lambda t: (lambda x, y: x @ y, [values(t, 2, 2), values(t, 2)]),
    "constant input": lambda t: (lambda x, n: x * n, (values(t, 3), t.ones(3) * 2)),
    "a number": lambda t: (lambda x, n: x**n, (values(t, 3), 2)),
    "0-d": lambda t: (t.tanh, values(t)),
    "empty": lambda t: (t.sin, t.zeros(0, dtype=t.float64, requires_grad=True)),
    "transposed": lambda t: (t.sin, values(t, 2, 3).detach().t().requires_grad_()),
    "unused input": lambda t: (lambda x, y: x * 2, (values(t, 2), values(t, 2))),
    "returns its input": lambda t: (lambda x: x, values(t, 2)),
    "view of it": lambda t: (lambda x: x[1:], values(t, 3)),
    "complex": lambda t: (lambda z: z * z.conj(), values(t, 2, dtype="complex128")),
    "complex to real": lambda t: (lambda z: z.abs(), values(t, 2, dtype="complex128")),
    "real to complex": lambda t: (lambda x: x * (1 + 2j), values(t, 2)),
    "both": lambda t: (
        lambda x, z: (x * z, x.sin()),
        (values(t, 2), values(t, 2, dtype="complex128")),
    ),
}


@both_modes
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name: str, fast_mode: bool):
    assert_same(lambda t: t.autograd.gradcheck(*RIGHT[name](t), fast_mode=fast_mode))


# ---- sparse inputs -------------------------------------------------------------------


def grid(t: Any, dtype: str = "float64") -> Any:
    """Return a sparse leaf that stores two of its four elements."""
    whole = values(t, 2, 2, dtype=dtype).detach() * t.eye(2)
    return whole.to_sparse().requires_grad_()


def hooked(t: Any, hook: Program) -> Program:
    """Return a function that makes dense, with a hook for the gradient of a copy."""

    def func(x: Any) -> Any:
        copy = x.clone()
        copy.register_hook(hook)
        return copy.to_dense()

    return func


SPARSE: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "stored elements": lambda t: (lambda x: x.to_dense(), grid(t)),
    "all elements": lambda t: (lambda x: x.to_dense(masked_grad=False), grid(t)),
    "sum": lambda t: (t.sum, grid(t)),
    "complex": lambda t: (lambda x: x.to_dense() * 2j, grid(t, "complex128")),
    "with dense": lambda t: (t.sparse.mm, (grid(t), values(t, 2, 2))),
    "rows": lambda t: (
        lambda x: x.to_dense() * 2,
        values(t, 3, 2).detach().to_sparse(1).requires_grad_(),
    ),
    "repeated places": lambda t: (
        lambda x: x.to_dense(masked_grad=False).pow(2),
        repeated(t).double().requires_grad_(),
    ),
    "nothing stored": lambda t: (
        lambda x: x.to_dense(),
        t.sparse_coo_tensor((2, 2), dtype=t.float64, requires_grad=True),
    ),
    "no rows": lambda t: (
        lambda x: x.to_dense(),
        t.zeros(2, 0, dtype=t.float64).to_sparse(1).requires_grad_(),
    ),
    "a denser gradient": lambda t: (
        hooked(t, lambda grad: grad.to_dense().to_sparse(1)),
        grid(t),
    ),
    "a dense gradient": lambda t: (hooked(t, lambda grad: grad.to_dense()), grid(t)),
    "a gradient too large": lambda t: (hooked(t, lambda grad: grad * 2), grid(t)),
    "never zero": lambda t: (hooked(t, lambda grad: grad + grad / grad), grid(t)),
}


@both_modes
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_inputs_are_checked_as_pytorch_does(
    name: str, masked: bool, fast_mode: bool
):
    def program(t: Any) -> Any:
        func, inputs = SPARSE[name](t)
        try:
            return t.autograd.gradcheck(
                func, inputs, masked=masked, fast_mode=fast_mode
            )
        except RuntimeError as error:
            return str(error).split(",")[0]

    assert_same(program)


def test_gradients_of_sparse_inputs_come_in_no_batches():
    x = grid(gradtape)
    with pytest.raises(GradcheckError, match="SparseCPU"):
        gradcheck(lambda x: x.to_dense(), x, masked=True, check_batched_grad=True)


@both_modes
def test_outputs_of_integers_are_left_out(fast_mode: bool):
    func = lambda x: (x.argmax(), x * 2)  # noqa: E731
    assert gradcheck(func, values(gradtape, 3), fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="for output 0 with respect to input 0"):
        gradcheck(lambda x: (x.argmax(), scaled(gradtape, 2.0)(x)), values(gradtape, 3))


@both_modes
@pytest.mark.parametrize("name", ["one input", "two inputs", "tuple out", "complex"])
def test_right_second_derivatives_pass(name: str, fast_mode: bool):
    assert gradgradcheck(*RIGHT[name](gradtape), fast_mode=fast_mode)
    assert gradgradcheck(
        *RIGHT[name](gradtape), fast_mode=fast_mode, gen_non_contig_grad_outputs=True
    )


@both_modes
@pytest.mark.parametrize(
    "name", ["one input", "two inputs", "complex", "real to complex", "both", "0-d"]
)
def test_forward_mode_passes(name: str, fast_mode: bool):
    assert_same(
        lambda t: t.autograd.gradcheck(
            *RIGHT[name](t), fast_mode=fast_mode, check_forward_ad=True
        )
    )
    assert gradcheck(
        *RIGHT[name](gradtape), check_forward_ad=True, check_backward_ad=False
    )


@both_modes
def test_forward_over_reverse_passes(fast_mode: bool):
    x = values(gradtape, 3)
    assert gradgradcheck(
        lambda x: x**3, x, check_fwd_over_rev=True, fast_mode=fast_mode
    )


@both_modes
def test_batched_gradients_pass(fast_mode: bool):
    func, inputs = RIGHT["two inputs"](gradtape)
    assert gradcheck(func, inputs, check_batched_grad=True, fast_mode=fast_mode)
    assert gradgradcheck(func, inputs, check_batched_grad=True, fast_mode=fast_mode)
    assert gradcheck(
        func,
        inputs,
        check_forward_ad=True,
        check_batched_forward_grad=True,
        fast_mode=fast_mode,
    )


def test_given_incoming_gradients_are_used():
    x = values(gradtape, 3)
    seen: list[Any] = []
    cube = lambda x: seen.append(x) or x**3  # noqa: E731
    incoming = gradtape.ones(3, dtype=gradtape.float64, requires_grad=True)
    assert gradgradcheck(cube, x, incoming)
    assert gradgradcheck(cube, x, [gradtape.ones(3, dtype=gradtape.float64)])


def test_inputs_and_random_numbers_are_as_before():
    x = values(gradtape, 3)
    before, version = x.tolist(), x._version
    state = gradtape.get_rng_state().tolist()
    gradcheck(gradtape.exp, x)
    gradcheck(gradtape.exp, x, fast_mode=True)
    assert x.tolist() == before
    assert x._version == version
    assert gradtape.get_rng_state().tolist() == state
    assert x.grad is None


def test_inputs_are_as_before_when_the_function_fails():
    x = values(gradtape, 3)
    before = x.tolist()
    calls: list[Any] = []

    def fails_later(x: Any) -> Any:
        calls.append(x)
        if len(calls) > 2:
            raise KeyError("third call")
        return x * 2

    with pytest.raises(KeyError):
        gradcheck(fails_later, x)
    assert x.tolist() == before


# ---- the helpers that PyTorch deprecates ---------------------------------------------


def test_numerical_jacobians():
    def program(t: Any) -> Any:
        module = __import__(f"{t.__name__}.autograd.gradcheck", fromlist=["x"])
        x, y = values(t, 2), values(t, 2)
        one = module.get_numerical_jacobian(
            lambda inputs: inputs[0] * inputs[1], (x, y), target=x, eps=1e-6
        )
        all_of_them = module.get_numerical_jacobian(
            lambda inputs: inputs[0] * inputs[1], (x, y), eps=1e-6
        )
        specific = module.get_numerical_jacobian_wrt_specific_input(
            lambda x, y: (x * y, x), 1, (x, y), (x * y, x), eps=1e-6
        )
        return one, all_of_them, specific

    assert_same(program)


def test_analytical_jacobians():
    def program(t: Any) -> Any:
        module = __import__(f"{t.__name__}.autograd.gradcheck", fromlist=["x"])
        x, y = values(t, 2), values(t, 2)
        return module.get_analytical_jacobian((x, y), x * y.exp())

    assert_same(program)


def test_helpers_refuse_what_they_no_longer_do():
    def call(name: str, **named: Any) -> Program:
        def program(t: Any) -> Any:
            module = __import__(f"{t.__name__}.autograd.gradcheck", fromlist=["x"])
            x = values(t, 2, dtype="complex128")
            if name == "get_numerical_jacobian":
                return module.get_numerical_jacobian(lambda x: x[0] * 2, (x,), **named)
            return module.get_analytical_jacobian((x,), x * 2, **named)

        return program

    for name in ("get_numerical_jacobian", "get_analytical_jacobian"):
        assert_same(call(name, grad_out=2.0))
        assert_same(call(name))


def test_the_module_answers_for_the_function():
    module: Any = sys.modules["gradtape.autograd.gradcheck"]
    assert module(gradtape.sin, values(gradtape, 2))
    assert callable(gradtape.autograd.gradcheck)


@both_modes
@pytest.mark.parametrize("masked", [True, False])
def test_sparse_results_are_checked_on_request(masked: bool, fast_mode: bool):
    check = gradtape.sparse.as_sparse_gradcheck(gradcheck)
    x = gradtape.eye(2, dtype=gradtape.float64).to_sparse().requires_grad_()
    for func in (lambda x: x, lambda x: [x * 2, x.sum()], gradtape.Tensor.to_sparse):
        assert check(func, x, masked=masked, fast_mode=fast_mode)
