"""Products of matrices, and those of integers with wider sums."""

from __future__ import annotations

from typing import Any

from ..._backend import backend_of
from ..._common.messages import legacy_type_name
from ..._dispatch.declare import FUNCTIONS, Array, op, public
from ..._dispatch.inplace import inplace
from ..._dtypes import CPP_TYPE, DTYPE_OF, int8, int32, uint8
from ..._sparse.array import SparseArray
from ..._sparse.rules import check_vector, matrices
from ..._tensor.tensor import Tensor, wrap
from .._kernels.gemm import added_to_rows
from .._support.matrix_product import (
    adjoint,
    check_batches,
    check_expandable,
    check_matrices,
    check_vectors,
    conj,
    matrix_product,
    product,
    scalar_name,
    scaled,
    size_at,
    suit_blas,
    wide_product,
)
from .._support.operands import c_name
from .._support.out_argument import SAME_DTYPE, handed_over
from .._support.scalar_range import in_range

_DOT_DTYPE = "result dtype {out} does not match input dtype {result}"
_VECTOR_DTYPE = (
    "addmv input tensors must have the same dtype, but got {out}, {result}, and "
    "{result}"
)
_SUM_DTYPE = "self and mat2 must have the same dtype, but got {out} and {result}"
_THREE_DTYPES = "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}"


def _into_left(F: Any, grad: Any, right: Any, shape: Any, strides: Any) -> Any:
    """Return grad · rightᴴ, column-major where the left operand was."""
    if strides == (1, shape[0]) and shape[1] != 1:
        return F.t(F.mm(conj(F, right), F.t(grad)))
    return F.mm(grad, adjoint(F, right))


def _into_right(F: Any, grad: Any, left: Any, shape: Any, strides: Any) -> Any:
    """Return leftᴴ · grad, column-major where the right operand was."""
    if strides == (1, shape[0]) and shape[1] != 1:
        return F.t(F.mm(F.t(grad), conj(F, left)))
    return F.mm(adjoint(F, left), grad)


@op(
    {
        "self": lambda F, grad, mat2, self_shape, self_strides: _into_left(
            F, grad, mat2, self_shape, self_strides
        ),
        "mat2": lambda F, grad, self, mat2_shape, mat2_strides: _into_right(
            F, grad, self, mat2_shape, mat2_strides
        ),
    },
    out=True,
    out_rule=SAME_DTYPE,
    family="matmul",
)
def mm(xp: Any, self: Array, mat2: Array) -> Any:
    """Multiply two matrices.

    Raises RuntimeError where they are no matrices, or their sizes do not meet.

    >>> import gradtape as torch
    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if suit_blas(self, mat2):
        return matrix_product(xp, self, mat2)
    for name, matrix in (("self", self), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    check_matrices(self, mat2)
    return product(xp, self, mat2, "addmm_impl_cpu_")


# The older names, for a sparse matrix and a dense one.
FUNCTIONS["spmm"] = FUNCTIONS["dsmm"] = mm


@op(
    {
        "self": lambda F, grad, beta: scaled(grad, beta),
        "mat1": lambda F, grad, mat2, mat1_shape, mat1_strides, alpha: scaled(
            _into_left(F, grad, mat2, mat1_shape, mat1_strides), alpha
        ),
        "mat2": lambda F, grad, mat1, mat2_shape, mat2_strides, alpha: scaled(
            _into_right(F, grad, mat1, mat2_shape, mat2_strides), alpha
        ),
    },
    out=True,
    out_rule=SAME_DTYPE,
    family="matmul",
)
def addmm(
    xp: Any, self: Array, mat1: Array, mat2: Array, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Return ``beta * self + alpha * mat1 @ mat2``; ``self`` is broadcast."""
    is_bias = self.shape == mat2.shape[1:] and self.dtype is mat1.dtype
    if is_bias and beta == alpha == 1 and suit_blas(mat1, mat2):
        found = added_to_rows(self, mat1, mat2)
        if found is None:
            found = matrix_product(xp, mat1, mat2)
            xp.add(found, self, found)
        return found
    if not self.dtype == mat1.dtype == mat2.dtype:
        which, left = ("self", self) if self.dtype != mat2.dtype else ("mat1", mat1)
        raise RuntimeError(
            f"{which} and mat2 must have the same dtype, but got "
            f"{_plain_name(left)} and {_plain_name(mat2)}"
        )
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {matrix.ndim}-D tensor")
    check_matrices(mat1, mat2)
    check_expandable(self, (mat1.shape[0], mat2.shape[1]))
    return added(xp, self, wide_product(xp, mat1, mat2, "addmm_impl_cpu_"), beta, alpha)


def added(xp: Any, self: Any, found: Any, beta: Any, alpha: Any) -> Any:
    """Return ``beta * self + alpha * found``, computed in the memory of ``found``.

    The result is rounded to the type of ``self``, which may be narrower.
    """
    wide = found.dtype
    kind = DTYPE_OF[wide]
    if alpha != 1:
        xp.multiply(found, wide.type(in_range(alpha, kind)), found)
    if beta != 0:  # 0 * nan would spread
        term = self.astype(wide, copy=False)
        if beta != 1:
            term = term * wide.type(in_range(beta, kind))
        xp.add(found, term, found)
    return found.astype(self.dtype, copy=False)


def _plain_name(array: Any) -> str:
    return legacy_type_name(DTYPE_OF[array.dtype])[6:].removesuffix("Tensor")


@op(
    {
        "self": lambda F, grad, vec: F.mul(F.unsqueeze(grad, 1), conj(F, vec)),
        "vec": lambda F, grad, self: F.mv(adjoint(F, self), grad),
    },
    out=True,
    out_rule=_VECTOR_DTYPE,
    family="matmul",
)
def mv(xp: Any, self: Array, vec: Array) -> Any:
    """Multiply a matrix with a vector."""
    if type(self) is SparseArray:
        check_vector(self, vec)
    _check_matrix_vector(self, vec, vec)
    return product(xp, self, vec, "addmv_impl_cpu")


@op(
    {
        "self": lambda F, grad, beta: scaled(grad, beta),
        "mat": lambda F, grad, vec, alpha: scaled(
            F.mul(F.unsqueeze(grad, 1), conj(F, vec)), alpha
        ),
        "vec": lambda F, grad, mat, alpha: scaled(F.mv(adjoint(F, mat), grad), alpha),
    },
    out=True,
    out_rule=SAME_DTYPE,
    family="matmul",
)
def addmv(
    xp: Any, self: Array, mat: Array, vec: Array, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Return ``beta * self + alpha * mat @ vec``."""
    _check_matrix_vector(mat, vec, self)
    found, kind = wide_product(xp, mat, vec, "addmv_impl_cpu"), DTYPE_OF[mat.dtype]
    beta, alpha = (mat.dtype.type(in_range(each, kind)) for each in (beta, alpha))
    return added(xp, self, found, beta, alpha)


def _check_matrix_vector(mat: Any, vec: Any, self: Any) -> None:
    if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
        rank = 1 if self is vec else self.ndim
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {rank}, {mat.ndim}, {vec.ndim}"
        )
    size = mat.shape[0] if self is vec else self.size
    if mat.shape[1] != vec.shape[0] or size not in (1, mat.shape[0]):
        raise _size_mismatch(size, mat, vec)
    if not self.dtype == mat.dtype == vec.dtype:
        names = [_plain_name(a) for a in (self, mat, vec)]
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{names[0]}, {names[1]}, and {names[2]}"
        )


def _size_mismatch(size: int, mat: Any, vec: Any) -> RuntimeError:
    rows, columns = mat.shape
    return RuntimeError(
        f"size mismatch, got input ({size}), mat ({rows}x{columns}), "
        f"vec ({vec.shape[0]})"
    )


@op(
    {
        "self": lambda F, grad, tensor: F.mul(grad, conj(F, tensor)),
        "tensor": lambda F, grad, self: F.mul(grad, conj(F, self)),
    },
    out=True,
    out_rule=_DOT_DTYPE,
    family="matmul",
)
def dot(xp: Any, self: Array, tensor: Array) -> Any:
    """Return the sum of products of two vectors."""
    check_vectors("dot", self, tensor)
    return product(xp, self, tensor, "dot")


@op(
    {
        "self": lambda F, grad, other: F.mul(conj(F, grad), other),
        "other": lambda F, grad, self: F.mul(grad, self),
    },
    out=True,
    out_rule=_DOT_DTYPE,
    family="matmul",
)
def vdot(xp: Any, self: Array, other: Array) -> Any:
    """Return the sum of products of two vectors, the first one conjugated."""
    check_vectors("dot", self, other)
    left = self.conj() if self.dtype.kind == "c" else self
    return product(xp, left, other, "dot")


def _batch_adjoint(F: Any, matrices: Any) -> Any:
    return F.transpose(conj(F, matrices), 1, 2)


@op(
    {
        "self": lambda F, grad, mat2: F.bmm(grad, _batch_adjoint(F, mat2)),
        "mat2": lambda F, grad, self: F.bmm(_batch_adjoint(F, self), grad),
    },
    out=True,
    out_rule=SAME_DTYPE,
    family="matmul",
)
def bmm(xp: Any, self: Array, mat2: Array) -> Any:
    """Multiply matrices pairwise: (b, n, m) with (b, m, p) gives (b, n, p)."""
    if SparseArray in (type(self), type(mat2)):
        return matrices(self, mat2)
    check_batches(self, mat2)
    return product(xp, self, mat2, "bmm")


@op(
    {
        "self": lambda F, grad, beta: scaled(grad, beta),
        "batch1": lambda F, grad, batch2, alpha: scaled(
            F.bmm(grad, _batch_adjoint(F, batch2)), alpha
        ),
        "batch2": lambda F, grad, batch1, alpha: scaled(
            F.bmm(_batch_adjoint(F, batch1), grad), alpha
        ),
    },
    out=True,
    out_rule=SAME_DTYPE,
    family="matmul",
)
def baddbmm(
    xp: Any,
    self: Array,
    batch1: Array,
    batch2: Array,
    *,
    beta: Any = 1,
    alpha: Any = 1,
) -> Any:
    """Return ``beta * self + alpha * bmm(batch1, batch2)``; ``self`` is broadcast."""
    sizes = [size_at(batch1, 0), size_at(batch1, 1), size_at(batch2, 2)]
    check_expandable(self, tuple(sizes))
    check_batches(batch1, batch2)
    if not self.dtype == batch1.dtype == batch2.dtype:
        kinds = [CPP_TYPE[DTYPE_OF[each.dtype]] for each in (self, batch1, batch2)]
        raise RuntimeError(_THREE_DTYPES.format(*kinds))
    return added(xp, self, wide_product(xp, batch1, batch2, "baddbmm"), beta, alpha)


def _each(F: Any, grad: Any, shape: Any) -> Any:
    """Hand the gradient of a sum over the batch to each of its terms."""
    return F.expand(F.unsqueeze(grad, 0), (shape[0], *grad.shape))


@op(
    {
        "self": lambda F, grad, beta: scaled(grad, beta),
        "batch1": lambda F, grad, batch2, batch2_shape, alpha: scaled(
            F.bmm(_each(F, grad, batch2_shape), _batch_adjoint(F, batch2)), alpha
        ),
        "batch2": lambda F, grad, batch1, batch1_shape, alpha: scaled(
            F.bmm(_batch_adjoint(F, batch1), _each(F, grad, batch1_shape)), alpha
        ),
    },
    out=True,
    out_rule=_SUM_DTYPE,
    family="matmul",
)
def addbmm(
    xp: Any,
    self: Array,
    batch1: Array,
    batch2: Array,
    *,
    beta: Any = 1,
    alpha: Any = 1,
) -> Any:
    """Return ``beta * self + alpha * (sum of the products of all pairs)``."""
    check_expandable(self, (size_at(batch1, 1), size_at(batch2, 2)))
    check_batches(batch1, batch2)
    if self.dtype != batch1.dtype:
        raise RuntimeError(
            _SUM_DTYPE.format(out=_plain_name(self), result=_plain_name(batch2))
        )
    if batch1.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    if batch1.dtype.itemsize > 2 or not len(batch1):
        found = product(xp, batch1, batch2, "addbmm").sum(0, dtype=batch1.dtype)
        return added(xp, self, found, beta, alpha)
    for left, right in zip(batch1, batch2, strict=True):  # each sum is rounded
        self = added(xp, self, wide_product(xp, left, right, "addbmm"), beta, alpha)
        beta = 1
    return self


inplace("addbmm", "addmm", "addmv", "baddbmm")


@public
def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply a matrix of int8 or uint8 with one of int8, in int32.

    >>> import gradtape as torch
    >>> a = torch.full((1, 2), 100, dtype=torch.int8)
    >>> torch._int_mm(a, a.t())
    tensor([[20000]], dtype=torch.int32)
    """
    for name, tensor in (("self", input), ("mat2", mat2)):
        _check(
            tensor.dim() == 2,
            f"Expected {name} to be of dimension 2 but got {tensor.dim()}",
        )
    rows, inner = input.shape
    _check(
        inner == mat2.shape[0],
        f"self.size(1) needs to match mat2.size(0) but got {inner} and {mat2.shape[0]}",
    )
    _check(
        input.dtype in (int8, uint8),
        f"Expected self dtype to be int8 or uint8 but got {c_name(input)}",
    )
    _check(
        mat2.dtype is int8,
        f"Expected mat2 dtype to be of type int8 but got {c_name(mat2)}",
    )
    if out is not None:
        _check_out(out, rows, mat2.shape[1])
    xp = backend_of(input._data).xp
    wide = (each._data.astype(int32.numpy) for each in (input, mat2))
    return handed_over("_int_mm", xp.matmul(*wide), out)


@public
def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """Multiply with the transpose of a matrix of int8 that has a scale for each row."""
    wanted = {
        "expect A to be either 32-bit or 16-bit float tensor.": (
            input.dtype.is_floating_point and input.dtype.itemsize < 8
        ),
        "A must be contiguous on the last dimension.": input.stride(1) == 1,
        "expect B to be int8 tensor.": mat2.dtype is int8,
        "expect B to be contiguous.": mat2.is_contiguous(),
        f"expect B.size(1) == {input.shape[1]}": mat2.size(1) == input.shape[1],
        f"expect scales to be 1d tensor with size {len(mat2)}": (
            tuple(scales.shape) == (len(mat2),)
        ),
    }
    for sentence, holds in wanted.items():
        if not holds:
            raise RuntimeError(f"_weight_int8pack_mm_cpu : {sentence}")
    if scales.dtype is not input.dtype:
        kinds = [scalar_name(each._data) for each in (input, scales)]
        raise RuntimeError("expected scalar type {} but found {}".format(*kinds))
    wide = [each._data.astype("float32") for each in (input, mat2, scales)]
    found = wide[0] @ wide[1].T * wide[2]
    return wrap(found.astype(input._data.dtype))


def _check_out(out: Tensor, rows: int, columns: int) -> None:
    _check(
        out.dtype is int32,
        f"Expected result dtype to be of type kInt but got {c_name(out)}",
    )
    for dim, wanted in enumerate((rows, columns)):
        _check(
            out.shape[dim] == wanted,
            f"Expected result.size({dim}) to be {wanted} but got {out.shape[dim]}",
        )
    _check(out.is_contiguous(), "Expected result to be contiguous.")


def _check(holds: bool, sentence: str) -> None:
    if not holds:
        raise RuntimeError(f"int_mm_out_cpu: {sentence}")
