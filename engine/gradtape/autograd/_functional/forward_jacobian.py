"""The Jacobian in one forward pass: dual numbers along every input at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros_like
from .. import forward_ad
from . import inputs_outputs as parts
from .inputs_outputs import Tensors
from .row_by_row import by_rows


def forward_jacobian(
    func: Callable[..., Any], inputs: Any, strict: bool, vectorize: bool
) -> Any:
    """Return the derivative of every output by every input, from tangents alone."""
    if strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and "
            '`strategy="forward-mode"` are not supported together (yet). Please either '
            'set `strict=False` or `strategy="reverse-mode"`.'
        )
    given, many_inputs = parts.as_tensors(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )
    shapes, many_outputs, columns = _pushed_forward(func, given)
    lengths = [each.numel() for each in given]
    rows = [
        tuple(
            piece.permute(*range(1, piece.dim()), 0).reshape(*shape, *like.shape)
            for piece, like in zip(column.split(lengths, dim=0), given, strict=True)
        )
        for column, shape in zip(columns, shapes, strict=True)
    ]
    found = parts.unpacked_rows(rows, many_outputs, many_inputs)
    return _as_lists(found) if many_inputs else found


def _as_lists(found: Any) -> Any:
    """Turn tuples to lists, which PyTorch returns here where inputs are several."""
    return found if isinstance(found, Tensor) else [_as_lists(each) for each in found]


def standard_basis(tensors: Tensors, lengths: Sequence[int]) -> Tensors:
    """Return the unit vectors of the space of all elements of the tensors.

    ``lengths`` are their numbers of elements. One tensor of (all elements, own
    elements) for each: row r of all of them together is the r-th unit vector.
    """
    total, start = sum(lengths), 0
    basis: list[Tensor] = []
    for each, length in zip(tensors, lengths, strict=True):
        chunk = each.new_zeros(total, length)
        chunk.diagonal(-start).fill_(1)
        basis.append(chunk)
        start += length
    return tuple(basis)


def _pushed_forward(
    func: Callable[..., Any], inputs: Tensors
) -> tuple[list[tuple[int, ...]], bool, Tensors]:
    """Push every unit vector through ``func``.

    Returns the shapes of its outputs, whether they were a tuple, and for each output
    the tangents stacked: (all input elements, *shape).
    """
    shapes: list[tuple[int, ...]] = []
    many = False

    def push(*tangents: Tensor) -> Tensors:
        nonlocal shapes, many
        with forward_ad.dual_level():
            duals = tuple(
                forward_ad.make_dual(each, tangent.view_as(each))
                for each, tangent in zip(inputs, tangents, strict=True)
            )
            outputs, many = parts.as_tensors(func(*duals), parts.OUTPUTS, "jacobian")
            halves = [forward_ad.unpack_dual(each) for each in outputs]
        shapes = [tuple(primal.shape) for primal, _ in halves]
        return tuple(
            zeros_like(primal) if tangent is None else tangent
            for primal, tangent in halves
        )

    basis = standard_basis(inputs, [each.numel() for each in inputs])
    columns = by_rows(push, *basis)  # first: it fills in the others
    return shapes, many, columns
