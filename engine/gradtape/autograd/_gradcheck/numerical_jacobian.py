"""Derivatives by finite differences: move each input a little, see what changes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.reduction.histograms import bincount
from .case import Case, Function, Vector, as_tuple, is_inexact, stored, wanted_positions

Step = float | Tensor
Check = Callable[[Tensor, Tensor], None]

DEPRECATED = (
    "`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
    "deprecating it and it will be removed in a future version of PyTorch. If you have "
    "a specific use for this or feature request for this to be a stable API, please "
    "file us an issue at https://github.com/pytorch/pytorch/issues/new"
)


def jacobian_by_targets(
    fn: Function,
    inputs: Any,
    outputs: Any = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Tensor, ...]]:
    """Return the Jacobians by each target that needs a gradient, one per output.

    The targets, by default ``inputs``, are tensors that ``fn(*inputs)`` reads.
    """
    given = as_tuple(inputs)
    returned = as_tuple(fn(*given) if outputs is None else outputs)
    if any(each.is_complex() for each in returned) and not is_forward_ad:
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer "
            "supports functions that return complex outputs."
        )
    wanted = given if target is None else as_tuple(target)
    return [
        get_numerical_jacobian_wrt_specific_input(
            fn, position, given, returned, eps, wanted[position], is_forward_ad
        )
        for position in wanted_positions(wanted)
    ]


def get_numerical_jacobian(
    fn: Function,
    inputs: Any,
    target: Any = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> tuple[Tensor, ...]:
    """Return the Jacobian of the first output of ``fn(inputs)`` by each target.

    One tensor of (input elements, output elements) for every tensor of ``target``, by
    default ``inputs``, that needs a gradient. Deprecated in PyTorch.
    """
    warnings.warn(
        DEPRECATED.format(name="get_numerical_jacobian"), FutureWarning, stacklevel=2
    )
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_numerical_jacobian no longer supports "
            "values of grad_out != 1.0."
        )
    found = jacobian_by_targets(
        lambda *tensors: fn(tensors), inputs, target=target, eps=eps
    )
    return tuple(first for first, *_ in found)


def get_numerical_jacobian_wrt_specific_input(
    fn: Function,
    input_idx: int,
    inputs: Any,
    outputs: Any,
    eps: float,
    input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:
    """Return the Jacobian of each output of ``fn(*inputs)`` by one of the inputs.

    A tensor of (input elements, output elements) per output of floats; rows of elements
    that a sparse input does not store are zero. The input's memory is changed in
    between, and afterwards is what it was.
    """
    source = as_tuple(inputs)[input_idx] if input is None else input
    if not source.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    complex_dtype = source.dtype if source.dtype.is_complex else None
    found = [
        each.new_zeros((source.numel(), each.numel()), dtype=complex_dtype)
        for each in as_tuple(outputs)
        if is_inexact(each)
    ]
    memory, places = stored(source)
    positions = product(*map(range, memory.size()))
    for row, index in zip(places.tolist(), positions, strict=True):
        slopes = _slopes(
            lambda: _copies(fn, inputs),
            memory[index],
            eps,
            eps,
            _same_kind(eps, f"on index {index} "),
            memory.is_complex(),
            is_forward_ad,
        )
        for jacobian, slope in zip(found, slopes, strict=True):
            jacobian[row] = slope
    return tuple(found)


def numerical_jacobians(case: Case, eps: float) -> list[tuple[Tensor, ...]]:
    """Return the Jacobians of a case: a tuple per input, a tensor per output."""
    return [
        get_numerical_jacobian_wrt_specific_input(
            case.func, position, case.moved, case.returned, eps, None, case.forward
        )
        for position in wanted_positions(case.inputs)
    ]


def directional(case: Case, position: int, u: Vector, eps: float) -> list[Tensor]:
    """Return the slope of each output of floats along ``u`` in one input."""
    source = case.moved[position]
    memory, places = stored(source)
    share: Any = eps
    if source.is_sparse:  # what is stored several times moves by one step in all
        share = eps / bincount(places)[places]
    step: Any = (
        tuple((share * each[places]).reshape(memory.shape) for each in u)
        if isinstance(u, tuple)
        else (share * u[places]).reshape(memory.shape)
    )
    slopes = _slopes(
        lambda: _copies(case.func, case.moved),
        memory,
        step,
        eps,
        _same_kind(eps, ""),
        source.is_complex(),
        case.forward,
    )
    return list(slopes)


def _copies(fn: Function, inputs: Any) -> list[Tensor]:
    """Call the function; copy what it returns, which may be the moving input."""
    return [each.clone() for each in as_tuple(fn(*as_tuple(inputs)))]


def _slopes(
    call: Callable[[], list[Tensor]],
    place: Tensor,
    step: Any,
    eps: float,
    check: Check,
    is_complex: bool,
    forward: bool,
) -> Iterator[Tensor]:
    """Yield how each output of floats changes as ``place`` moves, flat.

    For a complex input this is the conjugate Wirtinger derivative that backward
    gives: the slope along the real axis plus i times that along the imaginary one.
    """
    real, imaginary = step if isinstance(step, tuple) else (step, step)
    along_x = _differences(call, place, real, eps, check)
    if not is_complex:
        for slope in along_x:
            if slope.is_complex() and not forward:
                raise AssertionError("Expected ds_dx to be real-valued, not complex.")
            yield slope
        return
    along_y = _differences(call, place, imaginary * 1j, eps, check)
    for x, y in zip(along_x, along_y, strict=True):
        if x.is_complex():
            raise AssertionError("Expected ds_dx to be real-valued, not complex")
        yield x + y * 1j


def _differences(
    call: Callable[[], list[Tensor]],
    place: Tensor,
    step: Step,
    eps: float,
    check: Check,
) -> list[Tensor]:
    """Return the central differences of the outputs of floats, flat."""
    before = place.clone()
    try:
        place.copy_(before - step)
        low = call()
        place.copy_(before + step)
        high = call()
    finally:
        place.copy_(before)
    for a, b in zip(low, high, strict=False):
        check(a, b)
    return [
        ((b - a) / (2 * eps)).detach().reshape(-1)
        for a, b in zip(low, high, strict=True)
        if is_inexact(a)
    ]


def _same_kind(eps: float, where: str) -> Check:
    """Return the check that a function's outputs keep their shape and dtype."""

    def check(a: Tensor, b: Tensor) -> None:
        for fact in ("shape", "dtype"):
            one, other = getattr(a, fact), getattr(b, fact)
            if one != other:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {fact} when "
                    f"inputs are perturbed {where}by {eps}, but got: {fact}s {one} and "
                    f"{other}."
                )

    return check
