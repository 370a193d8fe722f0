"""What distributions share that are given by matrices."""

from __future__ import annotations

from typing import Any

from .. import linalg
from .._tensor.tensor import Tensor
from .utils import F

NOT_ONE = (
    "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
    "specified."
)


def only_given(
    covariance_matrix: Tensor | None,
    precision_matrix: Tensor | None,
    scale_tril: Tensor | None,
    error: type[Exception],
) -> tuple[str, Tensor]:
    """Return the one matrix that is given and its name; raise unless it is one."""
    matrices = {
        "covariance_matrix": covariance_matrix,
        "precision_matrix": precision_matrix,
        "scale_tril": scale_tril,
    }
    given = [(name, m) for name, m in matrices.items() if m is not None]
    if len(given) != 1:
        raise error(NOT_ONE)
    return given[0]


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """Return the Cholesky factor of the covariance that a named matrix stands for."""
    if name == "scale_tril":
        return matrix
    return (
        linalg.cholesky(matrix) if name == "covariance_matrix" else _of_inverse(matrix)
    )


def _of_inverse(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of a matrix's inverse, without the inverse.

    Flipping both dimensions turns a lower factor into an upper one of the other end.
    """
    flipped = linalg.cholesky(F.flip(precision, (-2, -1)))
    inverse = F.flip(flipped, (-2, -1)).mT
    size = precision.shape[-1]
    identity = F.eye(size, dtype=precision.dtype, device=precision.device)
    return linalg.solve_triangular(inverse, identity, upper=False)


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Multiply batches of matrices with batches of vectors."""
    return F.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def squared_length(factor: Tensor, vector: Tensor) -> Tensor:
    """Return x' M^-1 x for M = L L', given L (the squared Mahalanobis distance)."""
    solved = linalg.solve_triangular(factor, vector.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def log_diagonal(factor: Tensor) -> Tensor:
    """Return half the log-determinant of L L', given L."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def with_identity(matrix: Tensor) -> Tensor:
    """Add the identity."""
    size = matrix.shape[-1]
    identity: Any = F.eye(size, dtype=matrix.dtype, device=matrix.device)
    return matrix + identity
