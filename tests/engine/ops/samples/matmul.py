"""Calls of the matrix products."""

from __future__ import annotations

from collections.abc import Iterator

from ._record import Make, OpSample, Sample, sample

_FLOATS = ("float64", "float32", "int64", "complex128")


def mm(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3, 4))
    yield sample(make(1, 1), make(1, 1))
    yield sample(make(2, 1), make(1, 3))
    yield sample(make(0, 3), make(3, 2))
    yield sample(make(2, 0), make(0, 3))


def mm_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(4, 5))
    yield sample(make(2), make(4, 5))
    yield sample(make(2, 3), make(3))
    yield sample(make(2, 3), make.ints(3, 2, dtype="int32"))


def addmm(make: Make) -> Iterator[Sample]:
    yield sample(make(4), make(2, 3), make(3, 4))
    yield sample(make(2, 4), make(2, 3), make(3, 4), beta=2, alpha=3)
    yield sample(make(2, 1), make(2, 3), make(3, 4))
    yield sample(make(), make(2, 3), make(3, 4))


def addmm_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(2, 3), make(3, 4))
    yield sample(make(2, 1, 4), make(2, 3), make(3, 4))
    yield sample(make(4), make(3), make(3, 4))
    yield sample(make(4), make(2, 3), make(4, 4))


def mv(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(3))
    yield sample(make(1, 1), make(1))
    yield sample(make(0, 3), make(3))


def mv_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(4))
    yield sample(make(3), make(3))
    yield sample(make(2, 3), make(3, 1))


def addmv(make: Make) -> Iterator[Sample]:
    yield sample(make(2), make(2, 3), make(3))
    yield sample(make(2), make(2, 3), make(3), beta=2, alpha=3)


def addmv_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2), make(2, 3), make(4))
    yield sample(make(3), make(2, 3), make(3))


def dot(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(3))
    yield sample(make(1), make(1))


def dot_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(3), make(4))
    yield sample(make(2, 2), make(2))


def bmm(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 4), make(2, 4, 5))
    yield sample(make(1, 1, 1), make(1, 1, 1))
    yield sample(make(2, 0, 4), make(2, 4, 5))


def bmm_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(2, 3))
    yield sample(make(2, 3, 4), make(2, 5, 4))
    yield sample(make(2, 3, 4), make(3, 4, 5))


def baddbmm(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3, 5), make(2, 3, 4), make(2, 4, 5))
    yield sample(make(5), make(2, 3, 4), make(2, 4, 5), beta=2, alpha=3)


def baddbmm_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(7), make(2, 3, 4), make(2, 4, 5))


def addbmm(make: Make) -> Iterator[Sample]:
    yield sample(make(3, 5), make(2, 3, 4), make(2, 4, 5))
    yield sample(make(3, 5), make(2, 3, 4), make(2, 4, 5), beta=2, alpha=3)


def addr(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(2), make(3))
    yield sample(make(2, 3), make(2), make(3), beta=2, alpha=3)


def matmul(make: Make) -> Iterator[Sample]:
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((2, 2, 3), (3,)),
        ((3,), (2, 3, 4)),
        ((2, 2, 3), (3, 4)),
        ((2, 3), (2, 3, 4)),
        ((2, 2, 3), (2, 3, 4)),
        ((1, 2, 3), (2, 3, 4)),
        ((2, 1, 2, 3), (3, 3, 2)),
        ((2, 2, 2, 3), (3,)),
    ]
    for left, right in shapes:
        yield sample(make(*left), make(*right))


def matmul_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(), make(2))
    yield sample(make(2, 3), make(4))
    yield sample(make(3), make(4, 5))
    yield sample(make(3), make(4))
    yield sample(make(2, 3, 4), make(5, 4, 2))
    yield sample(make(2, 3, 4), make(3, 2))
    yield sample(make(2), 3)


def linear(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(4, 3), make(4))
    yield sample(make(2, 3), make(4, 3))
    yield sample(make(2, 2, 3), make(4, 3), make(4))
    yield sample(make(2, 2, 3), make(4, 3))
    yield sample(make(3), make(4, 3), make(4))
    yield sample(make(3), make(4, 3))
    yield sample(make(2, 3), make(3))


def linear_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 3), make(5, 4))
    yield sample(make(2, 3), make(5, 3), make(4))
    yield sample(make(2, 3, 4), make(5, 3))
    yield sample(make(), make(2, 2))


def vectors(make: Make) -> Iterator[Sample]:
    yield sample(make(2), make(3))
    yield sample(make(1), make(1))


def vectors_refused(make: Make) -> Iterator[Sample]:
    yield sample(make(2, 2), make(2))
    yield sample(make(2), make(2, 2))


def einsum(make: Make) -> Iterator[Sample]:
    yield sample("ij,jk->ik", make(2, 3), make(3, 4))
    yield sample("ij,jk", make(2, 3), make(3, 4))
    yield sample("bij,bjk->bik", make(2, 3, 4), make(2, 4, 2))
    yield sample("...ij,...jk->...ik", make(2, 2, 3), make(2, 3, 2))
    yield sample("ii->i", make(3, 3))
    yield sample("ii", make(3, 3))
    yield sample("ij->ji", make(2, 3))
    yield sample("ij->", make(2, 3))
    yield sample("i,j->ij", make(2), make(3))
    yield sample("i,i->", make(3), make(3))
    yield sample("ij,j,ik->ik", make(2, 3), make(3), make(2, 4))
    yield sample("bhqd,bhkd->bhqk", make(2, 2, 3, 2), make(2, 2, 4, 2))
    yield sample("ij,ij->j", make(2, 1), make(1, 3))
    yield sample("...i,ji->...j", make(2, 1, 3), make(4, 3))
    yield sample("i...,...i->...", make(2, 3), make(4, 3, 2))
    yield sample("iij,jk->ki", make(2, 2, 3), make(3, 2))
    yield sample("ij,jk,kl->il", make(2, 0), make(0, 3), make(3, 2))


def einsum_refused(make: Make) -> Iterator[Sample]:
    yield sample("ij,jk->ik", make(2, 3), make(4, 5))
    yield sample("ij->ik", make(2, 3))
    yield sample("ij,k", make(2, 3))
    yield sample("i", make(2, 3))


OPS = (
    OpSample("einsum", einsum, errors=einsum_refused),
    OpSample("mm", mm, dtypes=_FLOATS, errors=mm_refused),
    OpSample("addmm", addmm, dtypes=_FLOATS, errors=addmm_refused),
    OpSample("mv", mv, dtypes=_FLOATS, errors=mv_refused),
    OpSample("addmv", addmv, dtypes=_FLOATS, errors=addmv_refused),
    OpSample("dot", dot, dtypes=_FLOATS, errors=dot_refused),
    OpSample("vdot", dot, dtypes=_FLOATS, errors=dot_refused),
    OpSample("bmm", bmm, dtypes=_FLOATS, errors=bmm_refused),
    OpSample("baddbmm", baddbmm, dtypes=_FLOATS, errors=baddbmm_refused),
    OpSample("addbmm", addbmm),
    OpSample("addr", addr),
    OpSample("matmul", matmul, errors=matmul_refused),
    OpSample("operator.matmul", matmul),
    OpSample("outer", vectors, errors=vectors_refused),
    OpSample("nn.functional.linear", linear, errors=linear_refused),
)
