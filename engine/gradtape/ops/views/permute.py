"""Views of a whole tensor with its dimensions in another order."""

from __future__ import annotations

from typing import Any

from ..._common.warn import warn_once
from ..._dispatch.declare import Array, method
from ..._tensor.tensor import Tensor
from .._support import view_geometry as at
from .._support.arguments import check_tensor, spread, wrap_dim
from .._support.declare_view import view_op

Sizes = tuple[int, ...]


@view_op(
    at.transposed,
    {"self": lambda F, grad, dim0, dim1: F.transpose(grad, dim0, dim1)},
)
def transpose(xp: Any, self: Array, dim0: int, dim1: int) -> Any:
    """Swap two dimensions.

    >>> import gradtape as torch
    >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
    torch.Size([4, 3, 2])
    """
    return self.swapaxes(dim0, dim1) if self.ndim else self


method("swapdims", function=True)(transpose)


@method(function=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions: transpose() by NumPy's name."""
    return transpose(input, axis0, axis1)


@view_op(at.matrix_transposed, {"self": lambda F, grad: F.t(grad)})
def t(xp: Any, self: Array) -> Any:
    """Swap the two dimensions of a matrix.

    Raises RuntimeError for more than two dimensions.
    """
    return self.T


@view_op(
    at.permuted,
    {"self": lambda F, grad, dims: F.permute(grad, _inverse(dims))},
    method=False,
    function=False,
)
def permute(xp: Any, self: Array, dims: Sizes) -> Any:
    """Put the dimensions in another order."""
    return self.transpose(dims)


def _inverse(dims: Sizes) -> Sizes:
    places = {d % len(dims): i for i, d in enumerate(dims)}
    return tuple(places[d] for d in range(len(dims)))


@method("permute", function=True)
def _permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Put the dimensions in another order.

    Raises RuntimeError unless every dimension is named once.

    >>> import gradtape as torch
    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    check_tensor(input, "permute")
    return permute(input, spread(dims, "permute", "dims", named))


@method("movedim", "moveaxis", function=True)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to other places; the rest keep their order."""
    ndim = input.dim()
    sources = (source,) if isinstance(source, int) else tuple(source)
    targets = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} "
            f"dims) should contain the same number of dims as destination "
            f"({list(targets)} dims)"
        )
    moved = _distinct(sources, ndim, "source", source)
    places = _distinct(targets, ndim, "destination", destination)
    if not ndim:
        return _alias(input)
    rest = iter(d for d in range(ndim) if d not in moved)
    order = dict(zip(places, moved, strict=True))
    return permute(
        input, tuple(order[d] if d in order else next(rest) for d in range(ndim))
    )


def _distinct(dims: Sizes, ndim: int, name: str, given: Any) -> Sizes:
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    return wrapped


@view_op(
    at.same, {"self": lambda F, grad: grad}, name="alias", method=False, function=False
)
def _alias(xp: Any, self: Array) -> Any:
    """Look at the same tensor through a new one."""
    return self


# ---- attributes ----


def _reversed(self: Tensor) -> Tensor:
    if self.dim() == 0:
        warn_once(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in "
            "these cases."
        )
    elif self.dim() != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their "
            "shape is deprecated and it will throw an error in a future release. "
            "Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions "
            "of a tensor."
        )
    return permute(self, tuple(range(self.dim() - 1, -1, -1)))


def _matrices_transposed(self: Tensor) -> Tensor:
    if self.dim() == 0:
        warn_once(
            "Tensor.mT is deprecated on 0-D tensors. This function is the identity in "
            "these cases."
        )
        return self
    if self.dim() < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self.dim()}-D tensor."
        )
    return transpose(self, -2, -1)


Tensor.T = property(_reversed, doc="The tensor with its dimensions reversed.")
Tensor.mT = property(_matrices_transposed, doc="Matrices, each transposed.")


@method(function=True)
def adjoint(input: Tensor) -> Tensor:
    """Return matrices, each transposed and conjugated."""
    return _adjoint(check_tensor(input, "adjoint"), "adjoint()")


def _adjoint(self: Tensor, name: str) -> Tensor:
    if self.dim() == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got "
            "1-D tensor."
        )
    if not self.dim():
        word = name if name == "adjoint()" else f"Tensor.{name}"
        warn_once(f"{word} is deprecated on 0-D tensors. Consider using x.conj().")
    turned = transpose(self, -2, -1) if self.dim() else self
    return turned.conj() if self.dtype.is_complex else turned


def _matrices_adjoint(self: Tensor) -> Tensor:
    return _adjoint(self, "mH")


def _hermitian(self: Tensor) -> Tensor:
    if self.dim() not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" * (self.dim() > 2)
        raise RuntimeError(
            "tensor.H is only supported on matrices (2-D tensors). Got "
            f"{self.dim()}-D tensor.{hint}"
        )
    return _adjoint(self, "H")


Tensor.H = property(_hermitian, doc="The matrix, transposed and conjugated.")
Tensor.mH = property(_matrices_adjoint, doc="Matrices, each transposed and conjugated.")
