"""Named results of ops with several outputs: tuples whose items have names too."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, ClassVar

from ._dispatch.out import Outputs as Outputs


class NamedResult(tuple[Any, ...]):
    """A tuple of tensors whose items are also attributes, printed with their names."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    n_fields: ClassVar[int] = 0
    n_sequence_fields: ClassVar[int] = 0
    n_unnamed_fields: ClassVar[int] = 0
    _of_outputs: ClassVar[type[NamedResult] | None] = None

    def __new__(cls, items: Iterable[Any]) -> NamedResult:
        if type(items) is Outputs and cls._of_outputs is not None:
            return cls._of_outputs(list(items))
        found = tuple(items)
        if len(found) != len(cls._fields):
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a "
                f"{len(cls._fields)}-sequence ({len(found)}-sequence given)"
            )
        return super().__new__(cls, found)

    def __repr__(self) -> str:
        items = (f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(items) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


def _named(name: str, *fields: str, out: bool = True) -> type[NamedResult]:
    """Make the type of the results of a function, and that of its ``out=``."""
    body: dict[str, Any] = {
        "__slots__": (),
        "__doc__": f"What ``{name}`` returns: {', '.join(fields)}.",
        "__module__": __name__,
        "_fields": fields,
        "n_fields": len(fields),
        "n_sequence_fields": len(fields),
    }
    body |= {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    if out:
        body["_of_outputs"] = globals()[f"{name}_out"] = _named(
            f"{name}_out", *fields, out=False
        )
    return type(name, (NamedResult,), body)


_lu_with_info = _named("_lu_with_info", "LU", "pivots", "info", out=False)
aminmax = _named("aminmax", "min", "max")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
frexp = _named("frexp", "mantissa", "exponent")
geqrf = _named("geqrf", "a", "tau")
histogram = _named("histogram", "hist", "bin_edges")
histogramdd = _named("histogramdd", "hist", "bin_edges", out=False)
kthvalue = _named("kthvalue", "values", "indices")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L", "info")
linalg_eig = _named("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _named("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = _named("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = _named(
    "linalg_lstsq", "solution", "residuals", "rank", "singular_values"
)
linalg_lu = _named("linalg_lu", "P", "L", "U")
linalg_lu_factor = _named("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_slogdet = _named("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _named("linalg_solve_ex", "result", "info")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
lu_unpack = _named("lu_unpack", "P", "L", "U")
max = _named("max", "values", "indices")
median = _named("median", "values", "indices")
min = _named("min", "values", "indices")
mode = _named("mode", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
qr = _named("qr", "Q", "R")
slogdet = _named("slogdet", "sign", "logabsdet")
sort = _named("sort", "values", "indices")
svd = _named("svd", "U", "S", "V")
topk = _named("topk", "values", "indices")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient")
