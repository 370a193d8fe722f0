"""Constraints: which values are allowed, checked over whole tensors.

A constraint's `check` returns True or False for each event of a batch; events have
`event_dim` dimensions.
"""

from __future__ import annotations

from ._constraint import Constraint as Constraint
from ._constraint import MixtureSameFamilyConstraint as MixtureSameFamilyConstraint
from ._constraint import _Cat as _Cat
from ._constraint import _Dependent as _Dependent
from ._constraint import _DependentProperty as _DependentProperty
from ._constraint import _IndependentConstraint as _IndependentConstraint
from ._constraint import _Stack as _Stack
from ._constraint import cat as cat
from ._constraint import dependent as dependent
from ._constraint import dependent_property as dependent_property
from ._constraint import independent as independent
from ._constraint import is_dependent as is_dependent
from ._constraint import stack as stack
from ._constraint_values import _Boolean as _Boolean
from ._constraint_values import _CorrCholesky as _CorrCholesky
from ._constraint_values import _GreaterThan as _GreaterThan
from ._constraint_values import _GreaterThanEq as _GreaterThanEq
from ._constraint_values import _HalfOpenInterval as _HalfOpenInterval
from ._constraint_values import _IntegerGreaterThan as _IntegerGreaterThan
from ._constraint_values import _IntegerInterval as _IntegerInterval
from ._constraint_values import _IntegerLessThan as _IntegerLessThan
from ._constraint_values import _Interval as _Interval
from ._constraint_values import _LessThan as _LessThan
from ._constraint_values import _LowerCholesky as _LowerCholesky
from ._constraint_values import _LowerTriangular as _LowerTriangular
from ._constraint_values import _Multinomial as _Multinomial
from ._constraint_values import _OneHot as _OneHot
from ._constraint_values import _PositiveDefinite as _PositiveDefinite
from ._constraint_values import _PositiveSemidefinite as _PositiveSemidefinite
from ._constraint_values import _Real as _Real
from ._constraint_values import _Simplex as _Simplex
from ._constraint_values import _Square as _Square
from ._constraint_values import _Symmetric as _Symmetric
from ._constraint_values import boolean as boolean
from ._constraint_values import corr_cholesky as corr_cholesky
from ._constraint_values import greater_than as greater_than
from ._constraint_values import greater_than_eq as greater_than_eq
from ._constraint_values import half_open_interval as half_open_interval
from ._constraint_values import integer_interval as integer_interval
from ._constraint_values import interval as interval
from ._constraint_values import less_than as less_than
from ._constraint_values import lower_cholesky as lower_cholesky
from ._constraint_values import lower_triangular as lower_triangular
from ._constraint_values import multinomial as multinomial
from ._constraint_values import nonnegative as nonnegative
from ._constraint_values import nonnegative_integer as nonnegative_integer
from ._constraint_values import one_hot as one_hot
from ._constraint_values import positive as positive
from ._constraint_values import positive_definite as positive_definite
from ._constraint_values import positive_integer as positive_integer
from ._constraint_values import positive_semidefinite as positive_semidefinite
from ._constraint_values import real as real
from ._constraint_values import real_vector as real_vector
from ._constraint_values import simplex as simplex
from ._constraint_values import square as square
from ._constraint_values import symmetric as symmetric
from ._constraint_values import unit_interval as unit_interval

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]
