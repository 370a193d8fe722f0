"""What all matrix products share: the BLAS call, and checks in PyTorch's words."""

from __future__ import annotations

from typing import Any

from ..._common.compiled import compiled
from ..._common.messages import legacy_type_name
from ..._dtypes import CPP_TYPE, DTYPE_OF
from .._kernels.denormals import multiply
from .._kernels.gemm import is_thin, turned
from .arguments import wrap_dim

_EXPANDED = (
    "The expanded size of the tensor ({wanted}) must match the existing size ({given}) "
    "at non-singleton dimension {dim}.  Target sizes: {target}.  Tensor sizes: {sizes}"
)
_TOO_MANY_DIMENSIONS = (
    "expand({kind}{{{sizes}}}, size={target}): the number of sizes provided ({count}) "
    "must be greater or equal to the number of dimensions in the tensor ({ndim})"
)


def product(xp: Any, left: Any, right: Any, name: str) -> Any:
    """Multiply with BLAS; what 16-bit floats give is rounded once."""
    return wide_product(xp, left, right, name).astype(left.dtype, copy=False)


def wide_product(xp: Any, left: Any, right: Any, name: str) -> Any:
    """Multiply with BLAS. 16-bit floats are multiplied as float32, as PyTorch does."""
    kind = left.dtype.kind
    if kind == "b" and left.size and right.size:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    if left.dtype.itemsize == 2 and kind in "fV":
        return xp.matmul(left.astype("float32"), right.astype("float32"))
    if left.ndim == right.ndim == 2:
        return matrix_product(xp, left, right)
    if left.ndim <= 2:
        return xp.dot(left, right)
    return multiply(xp.matmul, _blas_ready(xp, left), _blas_ready(xp, right))


def matrix_product(xp: Any, left: Any, right: Any) -> Any:
    """Multiply two matrices of one type whose sizes meet."""
    return multiply(turned if is_thin(left, right) else xp.dot, left, right)


def suit_blas(left: Any, right: Any) -> bool:
    """Tell whether two matrices need neither a check nor a conversion."""
    return (
        left.ndim == right.ndim == 2
        and left.shape[1] == right.shape[0]
        and left.dtype is right.dtype
        and left.dtype.char in "fdFD"
    )


def _blas_ready(xp: Any, batch: Any) -> Any:
    """Copy matrices that BLAS cannot read in place; NumPy would not use BLAS then."""
    rows, columns = batch.strides[-2:]
    item = batch.itemsize
    dense = columns == item and rows >= batch.shape[-1] * item
    turned = rows == item and columns >= batch.shape[-2] * item
    return batch if dense or turned else xp.ascontiguousarray(batch)


# ---- pieces of derivatives ----


def conj(F: Any, tensor: Any) -> Any:
    """Return the conjugate; a real tensor is its own, and no node is recorded."""
    is_complex = tensor.dtype.kind == "c" if F.raw else tensor.dtype.is_complex
    return F.conj(tensor) if is_complex else tensor


def adjoint(F: Any, matrix: Any) -> Any:
    """Return the conjugate transpose of a matrix."""
    return F.t(conj(F, matrix))


def scaled(tensor: Any, factor: Any) -> Any:
    """Multiply a gradient by the conjugate of a number, unless it is 1."""
    if type(factor) is int and factor == 1:
        return tensor
    return tensor * (factor.conjugate() if type(factor) is complex else factor)


# ---- checks ----


def c_name(array: Any) -> str:
    """Return the C++ name of an array's type, as some messages use it."""
    return CPP_TYPE[DTYPE_OF[array.dtype]]


def scalar_name(array: Any) -> str:
    """Return the name of an array's type as "expected scalar type Float" says it."""
    return legacy_type_name(DTYPE_OF[array.dtype])[6:].removesuffix("Tensor")


def check_matrices(left: Any, right: Any) -> None:
    """Refuse matrices whose sizes or types do not meet."""
    (rows, inner), (inner2, columns) = left.shape, right.shape
    if inner != inner2:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({rows}x{inner} and {inner2}x{columns})"
        )
    if left.dtype != right.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{c_name(left)} != {c_name(right)}"
        )


def check_vectors(name: str, left: Any, right: Any) -> None:
    """Refuse anything but two vectors of one length and type."""
    if left.ndim != 1 or right.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {left.ndim}D and {right.ndim}D tensors"
        )
    if left.dtype != right.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found "
            f"{scalar_name(left)} and {scalar_name(right)}"
        )
    if left.size != right.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{left.size}] and src "
            f"[{right.size}] to have the same number of elements, but got "
            f"{left.size} and {right.size} elements respectively"
        )


def check_batches(left: Any, right: Any) -> None:
    """Refuse batches of matrices whose sizes or types do not meet."""
    for name, batch in (("batch1", left), ("batch2", right)):
        if batch.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    wanted, given = [left.shape[0], left.shape[2]], list(right.shape[:2])
    if wanted != given:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"{wanted} but got: {given}."
        )
    if left.dtype != right.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(left)} but found {scalar_name(right)}"
        )


def size_at(array: Any, dim: int) -> int:
    """Return one size of an array; IndexError, PyTorch's, where it has no such one."""
    return array.shape[wrap_dim(dim, array.ndim)]


def check_expandable(array: Any, target: tuple[int, ...]) -> None:
    """Refuse an array that cannot be broadcast to ``target``."""
    lead = len(target) - array.ndim
    if lead < 0:
        raise RuntimeError(
            _TOO_MANY_DIMENSIONS.format(
                kind=legacy_type_name(DTYPE_OF[array.dtype]),
                sizes=list(array.shape),
                target=list(target),
                count=len(target),
                ndim=array.ndim,
            )
        )
    for dim in reversed(range(array.ndim)):
        given, wanted = array.shape[dim], target[dim + lead]
        if given not in (1, wanted):
            raise RuntimeError(
                _EXPANDED.format(
                    wanted=wanted,
                    given=given,
                    dim=dim + lead,
                    target=list(target),
                    sizes=list(array.shape),
                )
            )


matrix_product = compiled(matrix_product)
suit_blas = compiled(suit_blas)
