"""What the linear algebra families share: checks, memory order, errors, ``out=``."""

# ruff: noqa: N803 - matrices have capital names, here as in PyTorch

from __future__ import annotations

import math
from typing import Any

from ..._backend import backend_of
from ..._common import messages as _errors
from ..._dtypes import DTYPE_OF
from ..._tensor.tensor import Tensor
from .out_argument import CASTABLE as CASTABLE
from .out_argument import SAME_DTYPE as SAME_DTYPE
from .out_argument import STRICT as STRICT
from .out_argument import into as into


class _LinAlgError(RuntimeError):
    """Raised where a matrix does not allow what was asked of it.

    A singular matrix has no inverse, an indefinite one no Cholesky factor.
    """


LinAlgError = _LinAlgError  # PyTorch's class has the underscore in its name

# ---- checks ------------------------------------------------------------------------


def at_least_matrix(name: str, tensor: Any, argument: str = "A") -> None:
    """Refuse a tensor of fewer than two dimensions."""
    if tensor.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions."
        )


def square(name: str, tensor: Any, argument: str = "A") -> None:
    """Refuse anything but square matrices, or batches of them."""
    at_least_matrix(name, tensor, argument)
    rows, columns = tensor.shape[-2:]
    if rows != columns:
        head = f"{name}: " if name else ""
        raise RuntimeError(
            f"{head}{argument} must be batches of square matrices, but they are "
            f"{rows} by {columns} matrices"
        )


def inexact(name: str, tensor: Any, low: bool = True) -> None:
    """Refuse integers, and 16-bit floats where ``low`` is False."""
    kind = kind_name(tensor)
    if tensor.dtype.kind not in "fcV":
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind}"
        )
    if not low and tensor.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {kind}")


def implemented(label: str, array: Any) -> None:
    """Refuse a dtype that LAPACK does not have."""
    if array.dtype.char not in "fdFD":
        raise NotImplementedError(
            f"\"{label}\" not implemented for '{kind_name(array)}'"
        )


def kind_name(array: Any) -> str:
    """Return the name of an array's dtype as messages say it: "Double"."""
    return str(DTYPE_OF[array.dtype].cpp_name)


def same_kind(name: str, first: Any, other: Any, names: str = "A B") -> None:
    """Refuse two arrays of unlike dtypes."""
    a, b = names.split()
    if first.dtype != other.dtype:
        raise RuntimeError(
            f"{name}: Expected {a} and {b} to have the same dtype, but found {a} of "
            f"type {kind_name(first)} and {b} of type {kind_name(other)} instead"
        )


def equation(name: str, A: Any, B: Any, left: bool) -> None:
    """Refuse sizes of A and B for which AX = B, or XA = B, makes no sense."""
    square(name, A)
    at_least_matrix(name, B, "B")
    if A.shape[-2] != B.shape[-2 if left else -1]:
        form = "AX" if left else "XA"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {form} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def common_batch(first: Any, second: Any) -> tuple[int, ...]:
    """Return the broadcast shape of two batches of matrices, their sizes left out."""
    a, b = tuple(first.shape[:-2]), tuple(second.shape[:-2])
    ndim = max(len(a), len(b))
    a, b = (1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b
    for dim in reversed(range(ndim)):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise RuntimeError(_errors.BROADCAST.format(a=a[dim], b=b[dim], dim=dim))
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def raise_for(
    infos: Any, sentence: str, name: str, error: type[Exception] = LinAlgError
) -> None:
    """Raise for the first matrix of a batch that LAPACK reports, if there is one."""
    if not infos.any():
        return
    where = ""
    number = int(infos) if infos.ndim == 0 else 0
    if infos.ndim:
        flat = infos.reshape(-1)
        at = int((flat != 0).argmax())
        number, where = int(flat[at]), f"(Batch element {at}): "
    raise error(f"{name}: {where}{sentence.format(number=number)}")


# ---- memory order ------------------------------------------------------------------


def columns(xp: Any, array: Any, copy: bool = False) -> Any:
    """Return matrices with column-major strides, as LAPACK writes them.

    With ``copy`` the memory is always new.
    """
    *batch, m, n = array.shape
    turned = array.swapaxes(-1, -2)
    dense = array.size and turned.flags.c_contiguous and 1 not in array.shape
    if dense and not copy:
        return array
    found = xp.empty((*batch, n, m), array.dtype)
    if not found.size:  # NumPy would leave the strides of nothing zero
        count = max(m, 1) * max(n, 1)
        sizes = [max(k, 1) for k in batch]
        steps = [count * math.prod(sizes[i + 1 :]) for i in range(len(batch))]
        step = (*steps, 1, max(m, 1))
        return backend_of(found).strided(found.reshape(-1), array.shape, step, 0)
    found[...] = turned
    return found.swapaxes(-1, -2)


def rows(xp: Any, array: Any) -> Any:
    """Return an array laid out row by row, with the strides of a new one."""
    if array.flags.c_contiguous and 1 not in array.shape:
        return array
    found = xp.empty(array.shape, array.dtype)
    found[...] = array
    return found


# ---- pieces of derivatives ---------------------------------------------------------


def adjoint(F: Any, matrices: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return F.conj(F.transpose(matrices, -2, -1))


def complex_in(F: Any, value: Any) -> bool:
    """Tell whether a formula's value is complex."""
    return value.dtype.kind == "c" if F.raw else value.dtype.is_complex


def raw(value: Any) -> Any:
    """Return the array of what a formula was given."""
    return value._data if isinstance(value, Tensor) else value
