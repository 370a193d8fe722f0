"""Products with matrices of int8: in int32, or scaled row by row."""

from __future__ import annotations

from ..._backend import backend_of
from ..._dispatch.declare import public
from ..._dtypes import int8, int32, uint8
from ..._tensor.tensor import Tensor, wrap
from .._support.matrix_product import scalar_name
from .._support.operands import c_name
from .._support.out_argument import handed_over


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
