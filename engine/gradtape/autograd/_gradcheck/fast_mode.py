"""gradcheck in fast mode: one number of each Jacobian, between random directions.

For a Jacobian J and random unit vectors u (in the input) and v (in the output) the two
ways must agree on v·J·u: finite differences along u find J·u, one backward pass v·J.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..._dtypes import complex64, complex128, float32, float64
from ..._random.generator import Generator
from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros_like
from ...ops.creation.random import rand
from ...ops.pointwise.comparison import allclose
from ...ops.views.reinterpret import view_as_real
from .analytical_jacobian import backward_jacobian, forward_jacobian, jacobian_of
from .case import (
    Case,
    GradcheckError,
    Options,
    Vector,
    as_tuple,
    close,
    is_inexact,
    mismatch,
    stored,
    wanted_positions,
)
from .numerical_jacobian import directional, numerical_jacobians

Vectors = Sequence[Vector]
Table = list[list[Tensor]]
"""One number (in forward mode one slope) per input, of one per output."""

_REAL = {complex128: float64, complex64: float32}

# What PyTorch says here, up to the advice for those who add operators to PyTorch.
SLOW_MODE = """
The above quantities relating the numerical and analytical jacobians are \
computed \nin fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more \
background \nabout fast mode. Below, we recompute numerical and analytical jacobians \
in slow mode:

Numerical:
 {numerical}
Analytical:
{analytical}

The max per-element difference (slow mode) is: {difference}.
"""
SLOW_MODE_WOULD_PASS = """\
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument."""


def check_fast(case: Case, options: Options) -> None:
    """Compare the Jacobians between random vectors; raise GradcheckError if unlike."""
    all_u, all_v = _vectors(case)
    numerical = _numerical(case, all_u, all_v, options.eps)
    if case.forward:
        analytical = [
            list(row)
            for row in forward_jacobian(
                case.func,
                case.inputs,
                case.returned,
                check_grad_dtypes=options.check_grad_dtypes,
                along=[u for u in all_u if isinstance(u, Tensor)],
            )
        ]
    else:
        if not case.outputs:
            _check_constant(case, all_u, options)
        analytical = _analytical(case, all_u, all_v or (), options)
    for i, (row, found) in enumerate(zip(analytical, numerical, strict=True)):
        for j, (a, n) in enumerate(zip(row, found, strict=True)):
            v = None if all_v is None else all_v[j]
            atol = _scaled(options.atol, all_u[i], v)
            if not close(a, n, options.rtol, atol):
                text = mismatch(case, a, n, j, i)
                raise GradcheckError(text + _in_slow_mode(case, i, j, options))


def _vectors(case: Case) -> tuple[Vectors, Sequence[Tensor] | None]:
    """Draw a direction per input and, unless forward, one per output.

    From a generator of its own: the user's random numbers stay as they were.
    """
    generator = Generator()
    all_u: list[Vector] = []
    for each in case.wanted:
        u = unit_vector(each, generator, real=True)
        all_u.append(
            (u, unit_vector(each, generator, True)) if each.is_complex() else u
        )
    if case.forward:
        return all_u, None
    return all_u, [unit_vector(each, generator, real=False) for each in case.outputs]


def unit_vector(like: Tensor, generator: Generator, real: bool) -> Tensor:
    """Draw a flat vector of length 1 with an entry per stored element of ``like``.

    At the elements that a sparse tensor does not store, it is zero.
    """
    dtype = _REAL.get(like.dtype, like.dtype) if real else like.dtype
    vector = rand(like.numel(), generator=generator).to(dtype=dtype, device=like.device)
    if like.is_sparse:
        _, places = stored(like)
        vector = zeros_like(vector).index_copy(0, places, vector[places])
    return vector / (vector.norm() or 1)


def _numerical(
    case: Case, all_u: Vectors, all_v: Sequence[Tensor] | None, eps: float
) -> Table:
    """Return J·u per input and output, or v·J·u where there are vectors v."""
    inexact = case.inexact
    table: Table = []
    for position, u in zip(wanted_positions(case.inputs), all_u, strict=True):
        slopes = directional(case, position, u, eps)
        if all_v is None:
            table.append(slopes)
            continue
        kept = [
            slope
            for slope, output in zip(slopes, inexact, strict=True)
            if output.requires_grad
        ]
        table.append([(v * s).sum() for v, s in zip(all_v, kept, strict=True)])
    return table


def _analytical(
    case: Case, all_u: Vectors, all_v: Sequence[Tensor], options: Options
) -> Table:
    """Return v·J·u per input and output by one backward pass per output."""
    table: Table = [[] for _ in all_u]
    for output, v in zip(case.outputs, all_v, strict=True):
        products = backward_jacobian(
            case.inputs, output, options.nondet_tol, options.check_grad_dtypes, v
        )
        for row, product, u in zip(table, products, all_u, strict=True):
            row.append(_dot(product.reshape(-1), u))
    return table


def _dot(product: Tensor, u: Vector) -> Tensor:
    if not isinstance(u, tuple):
        return product.dot(u)
    parts = view_as_real(product)
    real, imaginary = parts.select(-1, 0), parts.select(-1, 1)
    return real.dot(u[0]) + 1j * imaginary.dot(u[1])


def _check_constant(case: Case, all_u: Vectors, options: Options) -> None:
    """Check that outputs without a gradient do not change with the inputs."""
    for position, u in zip(wanted_positions(case.inputs), all_u, strict=True):
        for slope in directional(case, position, u, options.eps):
            if slope.numel() and bool(slope.abs().max() > options.nondet_tol):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero"
                )


def _scaled(atol: float, u: Vector, v: Tensor | None) -> float:
    """Return the tolerance of a sum whose terms may each be off by ``atol``."""
    weight = 1.0 if v is None else float(v.sum())
    if isinstance(u, tuple):
        return atol * (float(u[0].sum()) + float(u[1].sum())) * weight
    return atol * float(u.sum()) * weight


def _in_slow_mode(case: Case, i: int, j: int, options: Options) -> str:
    """Write what the slow mode finds for input ``i`` and output ``j``."""
    at = [k for k, each in enumerate(case.inexact) if each.requires_grad]
    position = wanted_positions(case.inputs)[i]
    number = j if case.forward else at[j]
    numerical = numerical_jacobians(case, options.eps)[i][number]
    if case.forward:

        def of_one_input(value: Tensor) -> Tensor:
            inputs = list(case.inputs)
            inputs[position] = value
            found = as_tuple(case.func(*inputs))
            return [each for each in found if is_inexact(each)][number]

        analytical = forward_jacobian(
            of_one_input, (case.inputs[position],), (case.inexact[number],)
        )[0][0]
    else:
        analytical = jacobian_of(case, i, j)
    text = SLOW_MODE.format(
        numerical=numerical,
        analytical=analytical,
        difference=(numerical - analytical).abs().max(),
    )
    agree = allclose(analytical, numerical, options.rtol, options.atol)
    return text + SLOW_MODE_WOULD_PASS if agree else text


# ---- gradcheck, element by element: every entry of every Jacobian, twice -----


def check_slowly(case: Case, options: Options) -> None:
    """Compare whole Jacobians; raise GradcheckError at the first that differ."""
    by_input = numerical_jacobians(case, options.eps)
    if not case.outputs:
        if any(bool((each != 0).any()) for row in by_input for each in row):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    at = [i for i, each in enumerate(case.inexact) if each.requires_grad]
    if case.forward:
        forward = forward_jacobian(
            case.func,
            case.inputs,
            case.returned,
            check_grad_dtypes=options.check_grad_dtypes,
        )
        by_output = [[row[i] for row in forward] for i in at]
    else:
        by_output = None
    for number, (i, output) in enumerate(zip(at, case.outputs, strict=True)):
        analytical = (
            by_output[number]
            if by_output is not None
            else backward_jacobian(
                case.inputs, output, options.nondet_tol, options.check_grad_dtypes
            )
        )
        for j, (a, row) in enumerate(zip(analytical, by_input, strict=True)):
            if not close(a, row[i], options.rtol, options.atol):
                raise GradcheckError(mismatch(case, a, row[i], number, j))
