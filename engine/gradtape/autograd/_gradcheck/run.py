"""One run of gradcheck: the inputs, both modes, real and imaginary parts, the rules."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..._common.site import user_stacklevel
from ..._dtypes import complex128, float64
from ..._tensor.tensor import Tensor
from ...ops.pointwise.complex_parts import imag, real
from .case import Case, Function, Options, as_tuple, wanted_positions
from .derivative_checks import (
    check_absent_gradients,
    check_absent_tangents,
    check_batched_backward,
    check_batched_forward,
    check_zero_in_zero_out,
)
from .fast_mode import check_fast, check_slowly

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
