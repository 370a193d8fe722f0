"""gradcheck and gradgradcheck tell what is wrong, in PyTorch's words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradtape
from gradtape._dispatch.declare import OPS, Array, op
from gradtape.autograd import gradcheck, gradgradcheck
from gradtape.autograd.gradcheck import GradcheckError

from ..oracle import assert_same
from ._gradcheck import gradient_errors
from .gradcheck_cases import both_modes, scaled, values

Program = Callable[[Any], Any]


pytestmark = pytest.mark.usefixtures("warm_forward_mode")


@pytest.mark.parametrize("factor", [1.002, 2.0, 0.0])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_wrong_factor_is_told_with_both_jacobians(factor: float, dtype: str):
    def program(t: Any) -> Any:
        return t.autograd.gradcheck(scaled(t, factor), values(t, 2, dtype=dtype))

    assert_same(lambda t: rounded(program, t))


def rounded(program: Program, t: Any) -> Any:
    """Return what was raised with numbers of 4 digits: differences are rough."""
    try:
        return program(t)
    except Exception as error:
        head, numbers = str(error).split("numerical:")
        parts = [float(word) for word in words(numbers)]
        return type(error).__name__, head, [round(p, 4) for p in parts]


def words(text: str) -> list[str]:
    return re.findall(r"\d+\.?\d*(?:e[+-]\d+)?", text)


def test_a_derivative_wrong_by_a_thousandth_is_found():
    with pytest.raises(GradcheckError, match=r"^Jacobian mismatch for output 0"):
        gradcheck(scaled(gradtape, 1.003), values(gradtape, 2))
    assert gradcheck(scaled(gradtape, 1.0), values(gradtape, 2))


def test_fast_mode_tells_the_slow_jacobians_too():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(scaled(gradtape, 2.0), values(gradtape, 2), fast_mode=True)
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\n")
    assert "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876" in text
    assert "\nNumerical:\n tensor([[0.2000, 0.0000],\n" in text
    assert re.search(r"The max per-element difference \(slow mode\) is: 0\.[34]", text)
    assert "might've passed in slow_mode" not in text


def test_fast_mode_says_where_slow_mode_would_pass():
    # Large slopes of either sign nearly cancel in the projection, small errors do not.
    slopes = 100 * gradtape.tensor([1.0, -1.0] * 200, dtype=gradtape.float64)

    class Sum(gradtape.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return (slopes * x).sum()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * (slopes + 0.05)

    x = values(gradtape, 400)
    assert gradcheck(Sum.apply, x)
    with pytest.raises(GradcheckError, match="might've passed in slow_mode"):
        gradcheck(Sum.apply, x, fast_mode=True)


@both_modes
def test_a_wrong_derivative_can_just_be_false(fast_mode: bool):
    for name in ("gradcheck", "gradgradcheck"):
        assert_same(
            lambda t, name=name: getattr(t.autograd, name)(
                scaled(t, 2.0),
                values(t, 2),
                raise_exception=False,
                fast_mode=fast_mode,
            )
        )


@both_modes
def test_a_wrong_second_derivative_is_found(fast_mode: bool):
    half_detached = lambda x: x.detach() * x * x  # noqa: E731
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(half_detached, values(gradtape, 2), fast_mode=fast_mode)


@pytest.fixture
def cube_of() -> Iterator[Callable[[float], Any]]:
    """Return an op x**3 whose formula has any factor one likes for 3."""

    def declare(factor: float) -> Any:
        def cube(xp: Any, self: Array) -> Any:
            return self * self * self

        formula = {"self": lambda F, grad, self: grad * (factor * self * self)}
        return op(formula, name="cube_to_check", method=False, function=False)(cube)

    yield declare
    OPS.pop("cube_to_check", None)


@pytest.mark.parametrize("order", [1, 2])
def test_a_formula_wrong_by_a_thousandth_is_told(cube_of: Any, order: int):
    """The check of every declared op, tried out on one that is wrong."""
    x = values(gradtape, 2, 3)
    right, wrong = cube_of(3.0), cube_of(3.003)
    assert list(gradient_errors(lambda: [right(x)], [x], order=order)) == []
    if order == 1:
        found = list(gradient_errors(lambda: [wrong(x)], [x]))
    else:
        half_detached = lambda: [x.detach() * x * x]  # noqa: E731
        found = list(gradient_errors(half_detached, [x], order=2))
    assert len(found) == 1
    assert found[0].startswith("Jacobian mismatch for output 0 with respect to input 0")


def first_line(program: Program) -> Program:
    """Return the program with errors cut to their first sentence or line."""

    def cut(t: Any) -> Any:
        try:
            return program(t)
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]

    return cut


def functions(t: Any) -> dict[str, tuple[Any, Any]]:
    """Return functions with something wrong, and inputs that show it."""

    class Jitter(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * (1 + t.rand_like(grad) * 1e-7)

    class Constant(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return t.ones_like(grad)

    def shifted(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda grad: grad + 1e-2)
        return y

    def changes_shape(x: Any) -> Any:
        return t.cat([x, x]) if bool((x >= 1).all()) else x

    def changes_dtype(x: Any) -> Any:
        return x.to(t.float32) if bool((x >= 1).all()) else x

    one = t.ones(1, dtype=t.float64, requires_grad=True)
    return {
        "not the same twice": (Jitter.apply, values(t, 2)),
        "not linear in the gradient": (Constant.apply, values(t, 2)),
        "hook": (shifted, values(t, 2)),
        "hook, complex": (shifted, values(t, 2, dtype="complex128")),
        "real to complex": (lambda x: shifted(t.complex(x, x)), values(t, 2)),
        "complex to real": (
            lambda x: shifted(t.real(x)),
            values(t, 2, dtype="complex128"),
        ),
        "no graph": (lambda x: x.detach() * 2, values(t, 2)),
        "no graph, constant": (lambda x: t.ones(2), values(t, 2)),
        "no outputs": (lambda x: (), values(t, 2)),
        "shape follows values": (changes_shape, one),
        "dtype follows values": (changes_dtype, one),
        "stride 0": (lambda x: x * 1, one.expand(2, 2)),
        "no input": (lambda x: x, t.ones(2)),
        "not a tensor out": (lambda x: 1.0, values(t, 2)),
        "raises": (lambda x: {}["missing"], values(t, 2)),
    }


@both_modes
@pytest.mark.parametrize("name", functions(gradtape))
def test_faults_are_told_in_pytorch_s_words(name: str, fast_mode: bool):
    for raise_exception in (True, False):
        assert_same(
            first_line(
                lambda t, raises=raise_exception: t.autograd.gradcheck(
                    *functions(t)[name], fast_mode=fast_mode, raise_exception=raises
                )
            )
        )


def test_jitter_passes_within_its_tolerance():
    func, x = functions(gradtape)["not the same twice"]
    assert gradcheck(func, x, nondet_tol=1e-5)


def test_a_gradient_that_was_never_multiplied_by_the_incoming_one():
    # Right at 1, which finite differences ask for; wrong for zeros.
    assert_same(
        first_line(
            lambda t: t.autograd.gradcheck(
                functions(t)["not linear in the gradient"][0],
                t.ones(1, dtype=t.float64, requires_grad=True),
            )
        )
    )


@both_modes
def test_absent_gradients_must_be_borne(fast_mode: bool):
    def needs_one(t: Any) -> Any:
        class Double(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(False)
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                if grad is None:
                    raise RuntimeError("the gradient is missing")
                return grad * 2

        return Double.apply

    def program(t: Any, check: bool = True) -> Any:
        return t.autograd.gradcheck(
            needs_one(t), values(t, 2), fast_mode=fast_mode, check_undefined_grad=check
        )

    assert_same(lambda t: program(t, check=False))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert_same(lambda t: program(t))
        with pytest.raises(GradcheckError, match="handle undefined output grads"):
            program(gradtape)
    told = [w for w in caught if "undefined gradient support" in str(w.message)]
    assert told
    assert told[-1].filename == __file__


def test_single_precision_is_warned_of():
    def program(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        return t.autograd.gradcheck(lambda x, y: x * y, (x, values(t, 2)), atol=1e-1)

    assert_same(program)
    with pytest.warns(UserWarning, match="Input #0 requires gradient") as caught:
        program(gradtape)
    assert caught[0].filename == __file__


@both_modes
def test_gradients_must_be_of_their_input_s_dtype_where_asked(fast_mode: bool):
    def program(t: Any) -> Any:
        return t.autograd.gradcheck(
            lambda x: x * 2, values(t, 2), check_grad_dtypes=True, fast_mode=fast_mode
        )

    assert_same(program)


def test_options_that_exclude_each_other():
    def with_options(name: str, **options: bool) -> Program:
        return lambda t: getattr(t.autograd, name)(t.sin, values(t, 2), **options)

    for program in (
        with_options("gradcheck", check_backward_ad=False),
        with_options(
            "gradcheck",
            check_backward_ad=False,
            check_forward_ad=True,
            check_batched_grad=True,
        ),
        with_options("gradcheck", check_batched_forward_grad=True),
        with_options("gradgradcheck", check_rev_over_rev=False),
        with_options(
            "gradgradcheck", check_rev_over_rev=False, check_fwd_over_rev=True
        ),
        with_options(
            "gradgradcheck",
            check_rev_over_rev=False,
            check_fwd_over_rev=True,
            check_undefined_grad=False,
            check_batched_grad=True,
        ),
    ):
        assert_same(program)


@both_modes
def test_a_wrong_tangent_is_told(fast_mode: bool):
    def program(t: Any) -> Any:
        forward_ad = t.autograd.forward_ad

        def wrong(x: Any, y: Any) -> Any:
            if forward_ad._current_level >= 0:
                primal, tangent = forward_ad.unpack_dual(y)
                y = forward_ad.make_dual(primal, tangent * 1.1)
            return x + y

        return t.autograd.gradcheck(
            wrong,
            (values(t, 2), values(t, 2)),
            check_forward_ad=True,
            fast_mode=fast_mode,
        )

    assert_same(first_line(program))


@both_modes
@pytest.mark.parametrize("factor", [2.0, 2.1])
def test_the_jvp_of_a_user_s_function_is_checked(factor: float, fast_mode: bool):
    def program(t: Any) -> Any:
        class Double(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

            @staticmethod
            def jvp(ctx: Any, tangent: Any) -> Any:
                return tangent * factor

        return t.autograd.gradcheck(
            Double.apply, values(t, 2), check_forward_ad=True, fast_mode=fast_mode
        )

    assert_same(first_line(program))


def test_random_numbers_have_no_place_in_a_batched_forward_pass():
    def program(t: Any) -> Any:
        return t.autograd.gradcheck(
            lambda x: x * 2 + 0 * t.rand(2, dtype=t.float64),
            values(t, 2),
            check_forward_ad=True,
            check_batched_forward_grad=True,
        )

    assert_same(first_line(program))


def test_sparse_outputs_are_refused_as_by_pytorch():
    def program(t):
        x = t.rand(3, dtype=t.float64, requires_grad=True)
        t.autograd.gradcheck(lambda x: x.to_sparse(), (x,), raise_exception=False)

    assert_same(program)
