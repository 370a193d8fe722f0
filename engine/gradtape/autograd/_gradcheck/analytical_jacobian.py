"""Derivatives as the engine computes them: backward row by row, or forward."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros, zeros_like
from .. import forward_ad
from .._api import grad
from .case import Case, GradcheckError, as_tuple, is_inexact, tensors_in
from .numerical_jacobian import DEPRECATED

Rows = list[list[Tensor | None]]
"""For each input the gradients by it, one per row of the Jacobian."""

# What PyTorch says here, up to the advice for those who add operators to PyTorch.
NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output "
    "multiple times gives different values, although analytical gradient matches "
    "numerical gradient.The tolerance for nondeterminism was {tolerance}.\n\nNOTE: If "
    "your op relies on non-deterministic operations i.e., it is listed here:\n"
    "https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html"
    "\nthis failure might be expected.\n"
)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Return the Jacobian of ``output`` by each input, as backward computes it.

    Returns the Jacobians, (input elements, output elements) each, and whether backward
    gives the same twice, gradients of the inputs' sizes, and of their dtypes.
    Deprecated in PyTorch.
    """
    warnings.warn(
        DEPRECATED.format(name="get_analytical_jacobian"), FutureWarning, stacklevel=2
    )
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_analytical_jacobian no longer supports "
            "values of grad_out != 1.0."
        )
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer "
            "supports functions that return complex outputs."
        )
    wanted = list(tensors_in(inputs, True))
    found, types_ok, sizes_ok = _stacked(_rows(output, wanted), wanted)
    again, _, _ = _stacked(_rows(output, wanted), wanted)
    return found, _equal(found, again, nondet_tol), sizes_ok, types_ok


def backward_jacobian(
    inputs: Sequence[Any],
    output: Tensor,
    nondet_tol: float,
    check_grad_dtypes: bool,
    v: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Return the Jacobian of ``output`` by each input; with ``v`` only its product.

    Raises GradcheckError where backward gives gradients of a wrong dtype or size, or
    not the same twice.
    """
    wanted = list(tensors_in(inputs, True))
    found, types_ok, sizes_ok = _stacked(_rows(output, wanted, v), wanted)
    again, _, _ = _stacked(_rows(output, wanted, v), wanted)
    if not types_ok and check_grad_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes_ok:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not _equal(found, again, nondet_tol):
        raise GradcheckError(NOT_REENTRANT.format(tolerance=nondet_tol))
    return found


def jacobian_of(case: Case, input_at: int, output_at: int) -> Tensor:
    """Return the whole Jacobian of one output by one input, whatever its faults."""
    return backward_jacobian(case.inputs, case.outputs[output_at], math.inf, False)[
        input_at
    ]


def _rows(output: Tensor, wanted: list[Tensor], v: Tensor | None = None) -> Rows:
    """Differentiate every element of the output, or the sum weighted by ``v``."""
    sample = output.clone()
    rows: Rows = [[] for _ in wanted]

    def run(incoming: Tensor) -> None:
        found = grad(output, wanted, incoming, retain_graph=True, allow_unused=True)
        for row, each in zip(rows, found, strict=True):
            row.append(each.clone() if isinstance(each, Tensor) else None)

    if v is not None:
        run(v.reshape(sample.shape))
        return rows
    incoming = sample.new_zeros(sample.shape)
    flat = incoming.view(-1)
    for position in range(flat.numel()):
        flat.zero_()
        flat[position] = 1.0
        run(incoming)
    return rows


def _stacked(rows: Rows, wanted: list[Tensor]) -> tuple[tuple[Tensor, ...], bool, bool]:
    """Make columns of gradients; say whether all have their input's dtype and size."""
    types_ok = sizes_ok = True
    found: list[Tensor] = []
    for source, gradients in zip(wanted, rows, strict=True):
        shape = (source.numel(), len(gradients))
        jacobian = zeros(shape, dtype=source.dtype, device=source.device)
        for column, each in enumerate(gradients):
            if each is None:
                continue
            if each.size() != source.size():
                sizes_ok = False
            elif each.dtype != source.dtype:
                types_ok = False
            if each.numel() != source.numel():
                raise AssertionError(
                    f"Expected out_jacobian column to have {each.numel()} elements, "
                    f"but got {source.numel()}"
                )
            jacobian[:, column] = each.to_dense().reshape(-1)
        found.append(jacobian)
    return tuple(found), types_ok, sizes_ok


def _equal(one: Sequence[Tensor], other: Sequence[Tensor], tolerance: float) -> bool:
    return not any(
        a.numel() and bool((a - b).abs().max() > tolerance)
        for a, b in zip(one, other, strict=True)
    )


# ---- forward -------------------------------------------------------------------------


def forward_jacobian(
    func: Callable[..., Any],
    inputs: Sequence[Any],
    outputs: Sequence[Tensor],
    *,
    check_grad_dtypes: bool = False,
    along: Sequence[Tensor] | None = None,
) -> tuple[tuple[Tensor, ...], ...]:
    """Return what tangents make of the outputs: a tuple per input, of one per output.

    Whole Jacobians, (input elements, output elements); with ``along``, a direction in
    each input, only the slopes along those.
    """
    found: list[tuple[Tensor, ...]] = []
    if any(each.is_complex() for each in _wanted(inputs)):
        raise ValueError(
            "Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad."
        )
    with forward_ad.dual_level():
        duals, tangents = _duals(inputs)
        for number, tangent in enumerate(tangents):
            if along is not None:
                tangent.copy_(along[number].view_as(tangent))
                slopes = _pushed(func, duals, outputs, check_grad_dtypes)
                found.append(tuple(slopes))
                tangent.zero_()
                continue
            jacobians = tuple(
                each.new_zeros((tangent.numel(), each.numel()))
                for each in outputs
                if is_inexact(each)
            )
            for row, index in enumerate(product(*map(range, tangent.size()))):
                tangent[index] = 1.0
                slopes = _pushed(func, duals, outputs, check_grad_dtypes)
                for jacobian, slope in zip(jacobians, slopes, strict=True):
                    jacobian[row] = slope
                tangent[index] = 0.0
            found.append(jacobians)
    return tuple(found)


def _wanted(inputs: Sequence[Any]) -> list[Tensor]:
    return [each for each in inputs if isinstance(each, Tensor) and each.requires_grad]


def _duals(inputs: Sequence[Any]) -> tuple[list[Any], list[Tensor]]:
    """Return the inputs with zero tangents where one is wanted, and those tangents."""
    duals: list[Any] = []
    tangents: list[Tensor] = []
    for each in inputs:
        if isinstance(each, Tensor) and each.requires_grad:
            each = forward_ad.make_dual(each.detach(), zeros_like(each))
            tangent = forward_ad.unpack_dual(each).tangent
            assert tangent is not None
            tangents.append(tangent)
        duals.append(each)
    return duals, tangents


def _pushed(
    func: Callable[..., Any],
    duals: Sequence[Any],
    outputs: Sequence[Tensor],
    check_grad_dtypes: bool,
) -> list[Tensor]:
    """Call the function on dual numbers; return the tangents that come out, flat."""
    results = [each for each in as_tuple(func(*duals)) if is_inexact(each)]
    found: list[Tensor] = []
    for output, each in zip(filter(is_inexact, outputs), results, strict=True):
        primal, tangent = forward_ad.unpack_dual(each)
        if tangent is None:
            tangent = zeros_like(output)
        elif check_grad_dtypes and primal.is_complex() != tangent.is_complex():
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        # A copy: it may be the input's own tangent, which moves on.
        found.append(tangent.detach().reshape(-1).clone())
    return found
