"""Check that derivatives are right: against finite differences, and by their rules."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .._common.site import user_stacklevel
from .._dtypes import complex128, float64
from .._tensor.tensor import Tensor
from ..ops.pointwise.complex_parts import imag, real
from ..testing import make_tensor
from ._api import grad
from ._gradcheck.analytical_jacobian import get_analytical_jacobian
from ._gradcheck.case import (
    Case,
    Function,
    GradcheckError,
    Options,
    as_tuple,
    differentiable,
    tensors_in,
    wanted_positions,
)
from ._gradcheck.derivative_checks import (
    check_absent_gradients,
    check_absent_tangents,
    check_batched_backward,
    check_batched_forward,
    check_zero_in_zero_out,
)
from ._gradcheck.fast_mode import check_fast, check_slowly
from ._gradcheck.numerical_jacobian import (
    get_numerical_jacobian,
    get_numerical_jacobian_wrt_specific_input,
    jacobian_by_targets,
)

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]

_get_numerical_jacobian = jacobian_by_targets
_iter_tensors = tensors_in


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of ``func`` at ``inputs`` against finite differences.

    Every input that needs a gradient is moved by ``eps``, and should be of double
    precision: in single precision the differences drown in rounding. The Jacobians
    must agree within ``atol`` and ``rtol``, backward must give the same twice (within
    ``nondet_tol``) and zeros for zeros. ``fast_mode`` compares one random projection
    of each Jacobian instead of every entry. ``check_forward_ad`` checks forward mode.

    Returns True; raises GradcheckError, which tells the two Jacobians, or returns False
    with ``raise_exception=False``. Raises ValueError where no input needs a gradient.

    >>> import gradtape as torch
    >>> x = torch.rand(3, dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be "
            "True"
        )
    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        fast_mode=fast_mode,
    )
    try:
        run(func, inputs, options, masked)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the gradients of the gradients of ``func`` against finite differences.

    As :func:`gradcheck`, of the function that takes ``inputs`` and the incoming
    gradients (random ones unless ``grad_outputs`` gives them, laid out with gaps for
    ``gen_non_contig_grad_outputs``) and returns the gradients of ``inputs``.

    >>> import gradtape as torch
    >>> x = torch.rand(3, dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x**3, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be "
            "True"
        )
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_rev_over_rev to be True"
        )
    given = as_tuple(inputs)
    incoming = (
        _random_gradients(func, given, gen_non_contig_grad_outputs)
        if grad_outputs is None
        else as_tuple(grad_outputs)
    )
    return gradcheck(
        _gradient_of(func, given, incoming),
        given + incoming,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _random_gradients(
    func: Callable[..., Any], inputs: tuple[Any, ...], noncontiguous: bool
) -> tuple[Tensor, ...]:
    return tuple(
        make_tensor(
            each.shape,
            dtype=each.dtype,
            device=each.device,
            low=-1,
            high=1,
            requires_grad=True,
            noncontiguous=noncontiguous,
        )
        for each in differentiable(func(*inputs))
    )


def _gradient_of(
    func: Callable[..., Any], inputs: tuple[Any, ...], incoming: tuple[Any, ...]
) -> Callable[..., tuple[Tensor, ...]]:
    """Return the function from inputs and incoming gradients to gradients."""
    wanted, coming = wanted_positions(inputs), set(wanted_positions(incoming))

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        given, gradients = args[: len(inputs)], args[len(inputs) :]
        # Forward mode hands in tensors without requires_grad.
        sources = [given[at].requires_grad_() for at in wanted]
        outputs = differentiable(func(*given))
        vectors = [
            each.requires_grad_() if at in coming else each
            for at, each in enumerate(gradients)
        ]
        found = grad(outputs, sources, vectors, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradient


class _CallableModule(ModuleType):
    """This module, which may come to stand where the function of its name belongs.

    ``autograd.gradcheck`` is the function. Importing the module under an alias of the
    package makes Python put the module there, for which it then answers.
    """

    __call__ = staticmethod(gradcheck)


sys.modules[__name__].__class__ = _CallableModule


# ---- what the checks run, and in which order ----

NOT_DOUBLE = (
    "Input #{index} requires gradient and is not a double precision floating point or "
    "complex. This check will likely fail if all the inputs are not of double "
    "precision floating point or complex. "
)
STRIDE_ZERO = (
    "The {index}th input has a dimension with stride 0. gradcheck only supports inputs "
    "that are non-overlapping to be able to compute the numerical gradients correctly. "
    "You should call .contiguous on the input before passing it to gradcheck."
)
NONE_WANTED = (
    "gradcheck expects at least one input tensor to require gradient, but none of them "
    "have requires_grad=True."
)


SPARSE_OUTPUT = (
    "Sparse output is not supported at gradcheck yet. Please call "
    "to_dense(masked_grad=...) on the output of fn for gradcheck."
)


def run(func: Function, inputs: Any, options: Options, masked: bool | None) -> None:
    """Check one function; raise GradcheckError at the first thing that is wrong."""
    given = as_tuple(inputs)
    _check_inputs(given)
    returned = as_tuple(func(*given))
    if any(isinstance(each, Tensor) and each.is_sparse for each in returned):
        raise ValueError(SPARSE_OUTPUT)
    case = Case(func, given, returned, masked=bool(masked))
    outputs = case.outputs
    if options.check_backward_ad:
        _check_backward(case, options)
    if options.check_forward_ad:
        _check_forward(case, options)
    if options.check_batched_forward_grad:
        check_batched_forward(func, given)
    if not options.check_backward_ad:
        return
    if options.check_batched_grad:
        for index, output in enumerate(outputs):
            check_batched_backward(given, output, index)
    check_zero_in_zero_out(outputs, given, masked)
    if options.check_undefined_grad:
        check_absent_gradients(func, given)


def _check_inputs(inputs: Sequence[Any]) -> None:
    wanted = wanted_positions(inputs)
    for index in wanted:
        each: Tensor = inputs[index]
        if each.dtype not in (float64, complex128):
            warnings.warn(
                NOT_DOUBLE.format(index=index),
                UserWarning,
                stacklevel=user_stacklevel(),
            )
        stored = each._values() if each.is_sparse else each
        sides = zip(stored.stride(), stored.size(), strict=True)
        if any(stride == 0 and size > 1 for stride, size in sides):
            raise RuntimeError(STRIDE_ZERO.format(index=index))
    if not wanted:
        raise ValueError(NONE_WANTED)


def _compare(case: Case, options: Options) -> None:
    (check_fast if options.fast_mode else check_slowly)(case, options)


def _check_backward(case: Case, options: Options) -> None:
    """Compare the Jacobians of backward; complex outputs in two real parts."""
    if not any(each.is_complex() for each in case.returned):
        _compare(case, options)
        return
    at = [i for i, each in enumerate(case.outputs) if each.is_complex()]
    for part, take in (("imaginary", imag), ("real", real)):
        func = _of_part(case.func, take)
        returned = func(*case.inputs)
        split = Case(
            func, case.inputs, returned, complex_at=at, part=part, masked=case.masked
        )
        _compare(split, options)


def _check_forward(case: Case, options: Options) -> None:
    """Compare the Jacobians of forward mode; complex inputs in two real parts."""
    at = [
        i
        for i, each in enumerate(case.inputs)
        if isinstance(each, Tensor) and each.is_complex()
    ]
    cases: list[Case] = []
    for part, take in (("imaginary", imag), ("real", real)) if at else ():
        func = _with_part(case.func, case.inputs, at, part)
        inputs = tuple(
            take(each) if i in at else each for i, each in enumerate(case.inputs)
        )
        returned = as_tuple(func(*inputs))
        cases.append(Case(func, inputs, returned, True, at, part))
    if not at:
        cases.append(Case(case.func, case.inputs, case.returned, forward=True))
    for each in cases:
        _compare(each, options)
    if options.check_undefined_grad:
        for each in cases:
            check_absent_tangents(each.func, each.inputs)


def _of_part(func: Function, take: Callable[[Tensor], Tensor]) -> Function:
    """Return the function with the real or imaginary part of its complex outputs."""

    def of_part(*inputs: Any) -> tuple[Tensor, ...]:
        return tuple(
            take(each) if each.is_complex() else each
            for each in as_tuple(func(*inputs))
        )

    return of_part


def _with_part(
    func: Function, inputs: Sequence[Any], at: Sequence[int], part: str
) -> Function:
    """Return the function of one part of its complex inputs, the other one fixed."""

    def with_part(*parts: Any) -> tuple[Any, ...]:
        given = list(parts)
        for index in at:
            whole = inputs[index]
            given[index] = (
                given[index] + whole.imag * 1j
                if part == "real"
                else whole.real + given[index] * 1j
            )
        return as_tuple(func(*given))

    return with_part
