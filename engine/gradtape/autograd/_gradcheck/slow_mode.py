"""gradcheck, element by element: every entry of every Jacobian, twice."""

from __future__ import annotations

from .analytical_jacobian import backward_jacobian, forward_jacobian
from .case import Case, GradcheckError, Options, close, mismatch
from .numerical_jacobian import numerical_jacobians


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
