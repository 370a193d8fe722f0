"""What the families of special functions share: SciPy's functions, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dtypes import result_type_of
from ..._graph.op import Check
from .._kernels.lapack import host
from .operands import HIDDEN, POINTWISE, kind_of, not_implemented, operand_of


def library(xp: Any) -> Any:
    """Return SciPy's special functions, or CuPy's."""
    if xp is np:
        from scipy import special
    else:
        from cupyx.scipy import special  # pyright: ignore[reportMissingImports]
    return special


def library_function(xp: Any, name: str) -> Callable[..., Any]:
    """Return a special function; SciPy's, by way of the host, where CuPy has none."""
    found = getattr(library(xp), name, None)
    if found is not None:
        return found
    from scipy import special

    return host(getattr(special, name))


def from_library(name: str) -> Callable[..., Any]:
    """Return a kernel that calls a special function; half precision runs in single."""

    def kernel(xp: Any, *arrays: Any) -> Any:
        function = library_function(xp, name)
        kind = next(a.dtype for a in arrays if hasattr(a, "dtype"))
        return function(*(widened(a) for a in arrays)).astype(kind, copy=False)

    return kernel


def widened(value: Any) -> Any:
    """Return an array of half precision in single precision, others as they are."""
    half = getattr(value, "dtype", None) is not None and value.dtype.itemsize == 2
    return value.astype(np.float32) if half else value


def lacks(label: str, half: bool = False, integers: bool = False) -> Check:
    """Return a check that refuses complex operands, and also some other kinds."""

    def check(_name: str, *args: Any) -> None:
        operands = args[:2]
        kind = kind_of(*operands)
        small = False
        if half and kind == "f":
            met = result_type_of([operand_of(a) for a in operands])
            small = met.itemsize == 2
        if kind == "c" or small or (integers and kind in "biu"):
            raise not_implemented(label, *operands)

    return check


def facts(name: str, *, half: bool = True, **more: Any) -> dict[str, Any]:
    """Return what the declaration of ``special_<name>`` says besides derivatives."""
    found = {**POINTWISE, **HIDDEN, "promotion": "float", "name": f"special_{name}"}
    return {**found, "check": lacks(f"{name}_cpu", not half), **more}
