"""Constraints of numbers, of vectors and of matrices."""

from __future__ import annotations

from typing import Any

from .. import linalg
from .._dtypes import bool_, finfo
from .._tensor.tensor import Tensor
from ._constraint import Constraint, _IndependentConstraint
from ._functions import F

# ---- single values ----


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # not for NaN


class _AboveBound(Constraint):
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _GreaterThan(_AboveBound):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_AboveBound):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _IntegerGreaterThan(_AboveBound):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _BelowBound(Constraint):
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _LessThan(_BelowBound):
    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _IntegerLessThan(_BelowBound):  # pyright: ignore[reportUnusedClass]
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _Multinomial(_BelowBound):
    is_discrete = True
    event_dim = 1
    _bounds = ()

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _Interval(Constraint):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & super().check(value)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


# ---- matrices ----


class _Matrix(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        same = value.tril() == value
        return same.view((*value.shape[:-2], -1)).min(-1)[0]


class _LowerCholesky(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-2, dim2=-1)
        return _LowerTriangular().check(value) & (diagonal > 0).min(-1)[0]


class _CorrCholesky(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = F.norm(value.detach(), dim=-1)
        unit = (lengths - 1.0).abs().le(tolerance).all(-1)
        return _LowerCholesky().check(value) & unit


class _Square(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        holds = value.shape[-2] == value.shape[-1]
        return F.full(value.shape[:-2], holds, dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        squares = super().check(value)
        if not squares.all():
            return squares
        return F.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return linalg.cholesky_ex(value).info.eq(0)


# ---- the public names ----

boolean = _Boolean()
corr_cholesky = _CorrCholesky()
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
half_open_interval = _HalfOpenInterval
integer_interval = _IntegerInterval
interval = _Interval
less_than = _LessThan
lower_cholesky = _LowerCholesky()
lower_triangular = _LowerTriangular()
multinomial = _Multinomial
nonnegative = _GreaterThanEq(0.0)
nonnegative_integer = _IntegerGreaterThan(0)
one_hot = _OneHot()
positive = _GreaterThan(0.0)
positive_definite = _PositiveDefinite()
positive_integer = _IntegerGreaterThan(1)
positive_semidefinite = _PositiveSemidefinite()
real = _Real()
real_vector = _IndependentConstraint(real, 1)
simplex = _Simplex()
square = _Square()
symmetric = _Symmetric()
unit_interval = _Interval(0.0, 1.0)
