"""Products and powers of vectors: ``cross``, ``vecdot``, ``vander``, ``diagonal``."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

from typing import Any

from ..._autocast.autocast import autocasts
from ..._common.warn import warn_once
from ..._dispatch.declare import FUNCTIONS, Array, method
from ..._dispatch.operands import common_shape
from ..._dtypes import bool_
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, wrap_dim
from .._support.dim_keepdim import numpy_names
from .._support.linalg import inexact, into, kind_name
from .._support.matrix_product import scalar_name
from .._support.operands import hidden_op
from .linear import matmul as product
from .matmul import vdot


@autocasts("linalg_vecdot")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the sum of the products of ``x``, conjugated, with ``y`` along ``dim``.

    >>> import gradtape as torch
    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    check_tensor(x, "linalg_vecdot", "x")
    check_tensor(y, "linalg_vecdot", "y", 2)

    def compute() -> Tensor:
        inexact("linalg.vecdot", x._data)
        if x.dtype is not y.dtype:
            raise RuntimeError(
                "linalg.vecdot: Expected x and y to have the same dtype, but found x "
                f"of type {x.dtype.cpp_name} and y of type {y.dtype.cpp_name} instead"
            )
        if x.dim() == 1 and y.dim() == 1:
            wrap_dim(dim, 1)
            return vdot(x, y)
        return (x.conj() * y).sum(dim)

    rule = "linalg.vecdot: Expected out of dtype{result} but found {out}"
    name = "vdot" if x.dim() == y.dim() == 1 else "sum"
    return into(name, out, (x, y), compute, rule)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Return the powers 0 … N - 1 of each element, in a new last dimension.

    >>> import gradtape as torch
    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    check_tensor(x, "linalg_vander", "x")
    kind = x.dtype
    if kind is bool_ or (kind.itemsize == 2 and kind.is_floating_point):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but "
            f"got {kind.cpp_name}"
        )
    tensor = x.unsqueeze(-1) if x.dim() == 0 else x
    count = tensor.shape[-1] if N is None else int(N)
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = tensor.unsqueeze(-1).expand((*tensor.shape, count - 1)).cumprod(-1)
    ones = FUNCTIONS["ones"](
        (*tensor.shape, 1), dtype=powers.dtype, device=powers.device
    )
    return FUNCTIONS["cat"]([ones, powers], -1)


@hidden_op(
    {
        "self": lambda F, grad, other, dim: F._linalg_cross(F.conj(other), grad, dim),
        "other": lambda F, grad, self, dim: F._linalg_cross(grad, F.conj(self), dim),
    },
    name="linalg_cross",
    key="_linalg_cross",
)
def _linalg_cross(xp: Any, self: Array, other: Array, dim: int) -> Any:
    if self.ndim != other.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions."
        )
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got "
            f"{self.shape[axis]} and {other.shape[axis]}"
        )
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(self)} but found {scalar_name(other)}"
        )
    if self.dtype.kind == "b":
        raise NotImplementedError(f"\"cross\" not implemented for '{kind_name(self)}'")
    shape = common_shape(self.shape, other.shape)
    a, b = (xp.moveaxis(xp.broadcast_to(t, shape), axis, 0) for t in (self, other))
    found = xp.empty(shape, self.dtype)
    into_found = xp.moveaxis(found, axis, 0)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        into_found[i] = a[j] * b[k] - a[k] * b[j]
    return found


@numpy_names
@autocasts("cross")
def cross(
    input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None
) -> Tensor:
    """Return the cross products of vectors of three, which lie along ``dim``.

    >>> import gradtape as torch
    >>> torch.linalg.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]))
    tensor([0., 0., 1.])
    """
    check_tensor(input, "linalg_cross")
    check_tensor(other, "linalg_cross", "other", 2)
    return into(
        "linalg_cross", out, (input, other), lambda: _linalg_cross(input, other, dim)
    )


_UNNAMED_DIM = (
    "Using torch.cross without specifying the dim arg is deprecated.\n"
    "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
    "The default value of dim will change to agree with that of linalg.cross in a "
    "future release."
)


@method("cross", function=True)
def _cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return cross products along ``dim``, by default the first dimension of size 3."""
    check_tensor(input, "cross")
    check_tensor(other, "cross", "other", 2)
    if dim is None:
        warn_once(_UNNAMED_DIM)
        threes = [i for i, n in enumerate(input.shape) if n == 3]
        if not threes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = threes[0]
    return cross(input, other, dim=dim, out=out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices.

    >>> import gradtape as torch
    >>> torch.linalg.diagonal(torch.eye(2))
    tensor([1., 1.])
    """
    check_tensor(A, "linalg_diagonal", "A")
    return FUNCTIONS["diagonal"](A, offset, dim1, dim2)


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply vectors, matrices or batches of matrices: ``gradtape.matmul``.

    >>> import gradtape as torch
    >>> torch.linalg.matmul(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    return into("matmul", out, (input, other), lambda: product(input, other))
