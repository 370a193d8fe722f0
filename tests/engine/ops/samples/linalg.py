"""Calls of the linear algebra functions.

Eigenvectors and singular vectors have signs that LAPACK leaves open; their own tests
compare them, and the values are compared here. Expanded matrices would be singular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._record import COMPLEX, FLOATS, Layout, Make, OpSample, Sample, rough, sample

_ALL = (*FLOATS, *COMPLEX)
_SOLID: tuple[Layout, ...] = ("contiguous", "transposed", "sliced")


def _regular(make: Make, *shape: int) -> Any:
    """Return matrices far from singular."""
    return make(*shape) + np.asarray(4 * np.eye(shape[-2], shape[-1]), make.dtype)


def _positive(make: Make, *shape: int) -> Any:
    """Return hermitian positive-definite matrices."""
    some = make(*shape)
    turned = some.conj().swapaxes(-1, -2)
    return np.asarray(some @ turned + 2 * np.eye(shape[-1]), make.dtype)


def _triangle(make: Make, *shape: int, upper: bool = False) -> Any:
    factor = np.linalg.cholesky(_positive(make, *shape))
    return np.ascontiguousarray(factor.swapaxes(-1, -2) if upper else factor)


def _matrices(*shapes: tuple[int, ...]) -> Callable[[Make], Iterator[Sample]]:
    def samples(make: Make) -> Iterator[Sample]:
        for shape in shapes:
            yield sample(_regular(make, *shape))

    return samples


SQUARE = _matrices((3, 3), (2, 3, 3), (2, 2, 2, 2), (1, 1), (0, 0), (0, 2, 2))
FEW = _matrices((3, 3), (2, 3, 3), (1, 1), (0, 0))
ANY = _matrices((3, 3), (2, 4, 3), (3, 4), (1, 1), (2, 1))


def _refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3))
    yield sample(make(2, 3))
    yield sample(make.ints(2, 2))
    yield sample(3)


def positive(make: Make) -> Iterator[Sample]:
    yield sample(_positive(make, 3, 3))
    yield sample(_positive(make, 2, 3, 3))
    yield sample(_positive(make, 3, 3), upper=True)
    yield sample(_positive(make, 1, 1))
    yield sample(make(0, 0))


def log_of_positive(make: Make) -> Iterator[Sample]:
    yield sample(_positive(make, 3, 3))
    yield sample(_positive(make, 2, 2, 2))


def factors(make: Make) -> Iterator[Sample]:
    yield sample(_triangle(make, 3, 3))
    yield sample(_triangle(make, 2, 3, 3))
    yield sample(_triangle(make, 3, 3, upper=True), upper=True)


def factor_systems(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 2), _triangle(make, 3, 3))
    yield sample(make(2, 3, 2), _triangle(make, 2, 3, 3))
    yield sample(make(3, 2), _triangle(make, 2, 3, 3))
    yield sample(make(3, 1), _triangle(make, 3, 3, upper=True), upper=True)


def factor_systems_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 2), make(2, 2))
    yield sample(make(3), make(3, 3))
    yield sample(make(3, 2), make(3))
    yield sample(make(2, 3, 2), make(4, 3, 3))


def systems(make: Make) -> Iterator[Sample]:
    yield sample(_regular(make, 3, 3), make(3, 2))
    yield sample(_regular(make, 3, 3), make(3))
    yield sample(_regular(make, 2, 3, 3), make(2, 3))
    yield sample(_regular(make, 2, 3, 3), make(2, 3, 2))
    yield sample(_regular(make, 3, 3), make(2, 3, 2))
    yield sample(_regular(make, 2, 1, 3, 3), make(2, 3, 2))
    yield sample(_regular(make, 3, 3), make(2, 3), left=False)
    yield sample(make(0, 0), make(0, 2))


def systems_refused(make: Make) -> Iterator[Sample]:
    square = _regular(make, 3, 3)
    yield sample(square, make(2, 3))
    yield sample(square, make(2))
    yield sample(square, make(3, 2), left=False)
    yield sample(make(2, 3), make(2, 2))
    yield sample(make(3), make(3))
    yield sample(square, make.ints(3, 2))
    yield sample(_regular(make, 2, 3, 3), make(4, 3, 2))
    yield sample(square, 3)


def triangles(make: Make) -> Iterator[Sample]:
    for upper in (True, False):
        square = _triangle(make, 3, 3, upper=upper)
        yield sample(square, make(3, 2), upper=upper)
        yield sample(square, make(2, 2, 3), upper=upper, left=False)
        yield sample(square, make(3, 1), upper=upper, unitriangular=True)
    yield sample(_regular(make, 2, 3, 3), make(3, 2), upper=True)


def triangles_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 3), make(2, 3), upper=True)
    yield sample(make(3, 3), make(3), upper=True)
    yield sample(make(3, 2), make(3, 2), upper=True)
    yield sample(make(3, 3), make(3, 2))


def lu_systems(make: Make) -> Iterator[Sample]:
    pivots = np.asarray([2, 2, 3], "int32")
    square = _regular(make, 3, 3)
    for left in (True, False):
        for adjoint in (True, False):
            yield sample(square, pivots, make(3, 3), left=left, adjoint=adjoint)
    pairs = np.asarray([[1, 3, 3], [3, 2, 3]], "int32")
    yield sample(_regular(make, 2, 3, 3), pairs, make(2, 3, 2))
    yield sample(square, pivots, make(2, 3, 1))


def unpackings(make: Make) -> Iterator[Sample]:
    two, three = np.asarray([2, 2], "int32"), np.asarray([3, 2, 3], "int32")
    yield sample(make(3, 3), three)
    yield sample(make(2, 3), two)
    yield sample(make(3, 2), two)
    yield sample(make(2, 3, 3), np.stack([three, three]))


def reflections(make: Make) -> Iterator[Sample]:
    yield sample(make(4, 3), make(3))
    yield sample(make(2, 3, 3), make(2, 2))
    yield sample(make(3, 1), make(1))


def multiplied_reflections(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 2), make(2), make(3, 4))
    yield sample(make(3, 2), make(2), make(3, 2), transpose=True)
    yield sample(make(3, 2), make(2), make(4, 3), left=False)
    yield sample(make(2, 3, 2), make(2, 2), make(2, 1, 3), left=False, transpose=True)


def norms(make: Make) -> Iterator[Sample]:
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield sample(_regular(make, 3, 3), order)
        yield sample(make(2, 3, 4), order, (0, 2), keepdim=True)
    yield sample(make(2, 3))


def norms_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), 3)
    yield sample(make(2, 3), "x")
    yield sample(make(3))
    yield sample(make(2, 3), 1, (0, 0))
    yield sample(make(2, 3), 1, (0,))


def vector_norms(make: Make) -> Iterator[Sample]:
    for order in (0, 0.5, 1, 1.5, 2, 3, np.inf, -np.inf, -2):
        yield sample(make.distinct(2, 3), order)
        yield sample(make.distinct(2, 3), order, dim=1)
    yield sample(make(2, 3, 2), dim=(0, 2), keepdim=True)
    yield rough(np.zeros(3, make.dtype))
    yield sample(make(0))


def either_norm(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make(3), 3)
    yield sample(make.distinct(3, 3), 2)
    yield sample(make.distinct(2, 3, 4), "nuc", (1, 2))
    yield sample(make(2, 3), 1, 1)


def conditions(make: Make) -> Iterator[Sample]:
    yield sample(_regular(make, 3, 3))
    yield sample(make(2, 4, 3))
    yield sample(_regular(make, 3, 3), "nuc")
    yield sample(_regular(make, 3, 3), 2)
    yield sample(_regular(make, 3, 3), -2)


def other_conditions(make: Make) -> Iterator[Sample]:
    for p in ("fro", 1, -1, np.inf, -np.inf):
        yield sample(_regular(make, 3, 3), p)


def powers(make: Make) -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 5, -1, -2):
        yield sample(_regular(make, 2, 3, 3), n)


def chains(make: Make) -> Iterator[Sample]:
    yield sample([make(2, 3), make(3, 4)])
    yield sample([make(2, 3), make(3, 4), make(4, 1)])
    yield sample([make(4), make(4, 2), make(2, 5), make(5)])
    yield sample([make(3, 5), make(5, 2), make(2, 4), make(4, 3), make(3, 1)])


def chains_refused(make: Make) -> Iterator[Sample]:
    yield sample([make(2, 3)])
    yield sample([make(2, 3), make(4, 3)])
    yield sample([make(2, 3), make(3), make(3, 2)])
    yield sample([make(2, 2, 3), make(3, 2)])


def crosses(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(2, 3))
    yield sample(make(3, 2), make(3, 2), dim=0)
    yield sample(make(1, 3), make(4, 3))


def crosses_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 4), make(2, 4))
    yield sample(make(2, 3), make(3))
    yield sample(make(2, 3), make(4, 3))
    yield sample(make(2, 3), make(2, 3), dim=3)


def vectors(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(3))
    yield sample(make(2, 3), make(2, 3))
    yield sample(make(2, 3), make(3), dim=-1)
    yield sample(make(2, 3), make(2, 1), dim=0)


def vandermonde(make: Make) -> Iterator[Sample]:
    yield sample(make(3))
    yield sample(make(2, 3), N=4)
    yield sample(make(), N=3)


def least_squares(make: Make) -> Iterator[Sample]:
    for driver in (None, "gels", "gelsd", "gelss"):
        yield sample(_regular(make, 4, 3), make(4, 2), driver=driver)
        yield sample(_regular(make, 2, 3, 4), make(2, 3, 1), driver=driver)
    yield sample(_regular(make, 2, 4, 2), make(2, 4))


def points(make: Make) -> Iterator[Sample]:
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf):
        yield sample(make(3, 2), make(4, 2), p)
    yield sample(make(2, 3, 2), make(4, 2))
    yield sample(make(30, 2), make(2, 2))
    yield sample(make(3, 2), make(2, 2), compute_mode="use_mm_for_euclid_dist")
    yield sample(make(0, 2), make(3, 2))


def one_set(make: Make) -> Iterator[Sample]:
    for p in (0.0, 1.0, 1.5, 2.0, 3.0, np.inf):
        yield sample(make(4, 2), p)
    yield sample(make(1, 2))


def renormed(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4), 2, 0, 1.0)
    yield sample(make(2, 3, 2), 1, 1, 2.0)
    yield sample(make(3, 4), 3, -1, 0.5)


def covariances(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 4))
    yield sample(make(2, 3), fweights=np.asarray([1, 3, 2]))


def variances(make: Make) -> Iterator[Sample]:
    yield sample(make(4), correction=0)
    yield sample(make(3))


def correlations(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 4))
    yield sample(make(3, 5))


def integrals(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3))
    yield sample(make(2, 3), make(3))
    yield sample(make(2, 3), make(2, 3), dim=0)
    yield sample(make(2, 3), dx=0.5, dim=0)


def bilinears(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(2, 4), make(5, 3, 4), make(5))
    yield sample(make(2, 2, 3), make(2, 2, 2), make(1, 3, 2))
    yield sample(make(3), make(4), make(2, 3, 4))


def bilinears_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(2, 4), make(5, 3, 3))
    yield sample(make(2, 3), make(3, 4), make(5, 3, 4))
    yield sample(make(3), make(2, 4), make(5, 3, 4))
    yield sample(make(2, 3), make(2, 4), make(5, 3, 4), make(3))


def _entry(name: str, samples: Callable[[Make], Iterator[Sample]], **facts: Any) -> Any:
    facts = {"dtypes": _ALL, "layouts": _SOLID, **facts}
    return OpSample(name, samples, **facts)


def _tensors(make: Make) -> Iterator[Sample]:
    yield sample(_regular(make, 6, 6).reshape(2, 3, 6), make(2, 3))


def _inverted_tensors(make: Make) -> Iterator[Sample]:
    yield sample(_regular(make, 6, 6).reshape(2, 3, 6))
    yield sample(_regular(make, 4, 4).reshape(4, 2, 2), 1)


# Of the triangle that is not read PyTorch's derivative says what symmetry implies:
# finite differences of single elements do not see that.
_HALF = {"gradcheck": False, "gradgradcheck": False}

OPS: tuple[OpSample, ...] = (
    _entry("linalg.cholesky", positive, errors=_refused, **_HALF),
    _entry("linalg.cholesky_ex", positive, errors=_refused, **_HALF),
    _entry("cholesky_inverse", factors, errors=_refused, **_HALF),
    _entry("cholesky_solve", factor_systems, errors=factor_systems_refused, **_HALF),
    _entry("linalg.inv", SQUARE, errors=_refused, out=True, out_casts=True),
    _entry("linalg.inv_ex", SQUARE, errors=_refused),
    _entry("inverse", SQUARE, errors=_refused),
    _entry("linalg.det", SQUARE, errors=_refused, out=True),
    _entry("linalg.slogdet", SQUARE, errors=_refused),
    _entry("logdet", log_of_positive, errors=_refused),
    _entry("linalg.solve", systems, errors=systems_refused, out=True),
    _entry("linalg.solve_ex", systems, errors=systems_refused),
    _entry("linalg.solve_triangular", triangles, errors=triangles_refused, out=True),
    _entry("linalg.lu", ANY),
    _entry("linalg.lu_factor", ANY),
    _entry("linalg.lu_factor_ex", ANY),
    _entry("linalg.lu_solve", lu_systems),
    _entry("lu_unpack", unpackings),
    _entry("linalg.eigvalsh", SQUARE, errors=_refused, **_HALF),
    _entry("linalg.svdvals", ANY, gradgradcheck=False, out=True),
    _entry("linalg.qr", ANY),
    # Long products of numbers that cancel.
    _entry("linalg.householder_product", reflections, rtol=1e-4),
    _entry("ormqr", multiplied_reflections),
    _entry("linalg.pinv", ANY, out=True),
    _entry("linalg.matrix_rank", ANY, derived=False),
    _entry("linalg.cond", conditions, out=True),
    # PyTorch overwrites what the inverse had saved, so that its backward fails.
    _entry("linalg.cond", other_conditions, derived=False, variant="orders"),
    _entry("linalg.matrix_norm", norms, errors=norms_refused),
    _entry("linalg.vector_norm", vector_norms, gradgradcheck=False),
    _entry("linalg.norm", either_norm),
    _entry("nuclear_norm", ANY),
    _entry("linalg.lstsq", least_squares),
    _entry("linalg.tensorsolve", _tensors),
    _entry("linalg.tensorinv", _inverted_tensors),
    _entry("linalg.matrix_exp", FEW, errors=_refused),
    _entry("linalg.matrix_power", powers),
    _entry("linalg.multi_dot", chains, errors=chains_refused),
    _entry("linalg.cross", crosses, errors=crosses_refused, out=True),
    _entry("linalg.vecdot", vectors),
    _entry("linalg.vander", vandermonde),
    # PyTorch differentiates these once only.
    _entry("cdist", points, dtypes=FLOATS, double=False, gradgradcheck=False),
    _entry("pdist", one_set, dtypes=FLOATS, double=False, gradgradcheck=False),
    _entry("renorm", renormed, inplace=True),
    _entry("cov", covariances),
    _entry("cov", variances, dtypes=FLOATS, variant="vector"),
    _entry("corrcoef", correlations, dtypes=FLOATS),
    _entry("trapezoid", integrals),
    _entry("cumulative_trapezoid", integrals),
    _entry("bilinear", bilinears, dtypes=FLOATS, errors=bilinears_refused),
)
