"""What gradcheck is told and what it checks: options, one case, small helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from ..._dtypes import promote_types
from ..._tensor.tensor import Tensor
from ...ops.creation.factories import ones
from ...ops.creation.ranges import arange
from ...ops.pointwise.comparison import allclose
from ...ops.sparse.create import sparse_coo_tensor

Function: TypeAlias = Callable[..., Any]
Vector: TypeAlias = Tensor | tuple[Tensor, Tensor]
"""A direction in an input: one tensor, or real and imaginary part of a complex one."""


class GradcheckError(RuntimeError):
    """A derivative is not what finite differences, or the rules, say it should be."""


@dataclass(frozen=True)
class Options:
    """How to check; the fields are the arguments of :func:`gradcheck`."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool


@dataclass(frozen=True)
class Case:
    """One function at one point, with what it returned there.

    A complex function is checked as two cases, of its real and its imaginary part:
    ``part`` names it, ``complex_at`` the outputs (in forward mode inputs) it is of.
    """

    func: Function
    inputs: tuple[Any, ...]
    returned: tuple[Any, ...]
    forward: bool = False
    complex_at: Sequence[int] = ()
    part: str = "real"
    masked: bool = False

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs that have a gradient."""
        return differentiable(self.returned)

    @property
    def inexact(self) -> tuple[Tensor, ...]:
        """The outputs that a derivative could exist for."""
        return tuple(each for each in self.returned if is_inexact(each))

    @property
    def wanted(self) -> tuple[Tensor, ...]:
        """The inputs that need a gradient."""
        return tuple(self.inputs[at] for at in wanted_positions(self.inputs))

    @cached_property
    def moved(self) -> tuple[Any, ...]:
        """The inputs to move: unless masked, sparse ones store their zeros too."""
        return self.inputs if self.masked else tuple(map(filled, self.inputs))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a tuple or list as a tuple, anything else as a tuple of one."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def is_inexact(value: Any) -> bool:
    """Say whether a value is a tensor of real or complex floats."""
    return isinstance(value, Tensor) and (
        value.is_floating_point() or value.is_complex()
    )


def filled(value: Any) -> Any:
    """Return a sparse tensor with all its elements stored, and anything else as is."""
    if not (isinstance(value, Tensor) and value.is_sparse):
        return value
    sides = value.size()
    indices = ones(sides[: value.sparse_dim()], device=value.device).nonzero().t()
    values = value.detach().to_dense()
    values = values.reshape(indices.size(1), *sides[value.sparse_dim() :])
    whole = sparse_coo_tensor(indices, values, sides, is_coalesced=True)
    return whole.requires_grad_(value.requires_grad)


def stored(source: Tensor) -> tuple[Tensor, Tensor]:
    """Return the memory of the elements of a tensor, and where in it they lie, flat."""
    places = arange(source.numel()).view(source.size())
    if source.is_sparse:
        return source._values().data, places[tuple(source._indices())].view(-1)
    return source.data, places.view(-1)


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    """Return the outputs of a function that have a gradient."""
    return tuple(each for each in as_tuple(outputs) if each.requires_grad)


def wanted_positions(inputs: Iterable[Any]) -> list[int]:
    """Return the positions of the inputs that need a gradient."""
    return [
        position
        for position, each in enumerate(inputs)
        if isinstance(each, Tensor) and each.requires_grad
    ]


def tensors_in(value: Any, only_requiring_grad: bool = False) -> Iterator[Tensor]:
    """Yield the tensors in nested containers, all or those that need a gradient."""
    if isinstance(value, Tensor):
        if value.requires_grad or not only_requiring_grad:
            yield value
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:
            yield from tensors_in(each, only_requiring_grad)


def close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    """Compare two Jacobians in the wider of their dtypes."""
    wide = promote_types(a.dtype, b.dtype)
    return allclose(a.to(wide), b.to(wide), rtol, atol)


def mismatch(
    case: Case, analytical: Tensor, numerical: Tensor, output: int, input: int
) -> str:
    """Write that the two Jacobians of an output by an input differ."""
    prefix = ""
    if (input if case.forward else output) in case.complex_at:
        of = "inputs" if case.forward else "outputs"
        prefix = f"While considering the {case.part} part of complex {of} only, "
    how = "computed with forward mode " if case.forward else ""
    return (
        f"{prefix}Jacobian {how}mismatch for output {output} with respect to input "
        f"{input},\nnumerical:{numerical}\nanalytical:{analytical}\n"
    )
