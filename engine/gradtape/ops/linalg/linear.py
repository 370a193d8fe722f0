"""``matmul`` of any ranks and ``linear``, composed of matrix products as PyTorch does.

Which products, and which views around them, shows in the recorded graph; a viewer of
PyTorch's graphs finds the same nodes here.
"""

from __future__ import annotations

import math
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import OPS, Array, method, public
from ..._dispatch.operands import argument_error, common_shape
from ..._tensor.tensor import Tensor
from .._support.arguments import Sizes, check_tensors, sizes, wrap_dims
from .._support.declare_view import composed
from .._support.operands import hidden_op
from .._support.out_argument import PLAIN, SAME_DTYPE, with_out
from ..views.permute import t, transpose
from ..views.reshape import _unsafe_view, reshape, unsqueeze, view
from .matmul import addmm, bmm, dot, mm, mv

_DOT_DTYPE = "result dtype {out} does not match input dtype {result}"
_TENSORDOT_DTYPE = (
    "tensordot: Expected the output tensor to have dtype {result}, but got an output "
    "tensor with dtype {out}"
)


@hidden_op(
    {"self": lambda F, grad, self_shape: F.reshape(grad, self_shape)},
    node="SqueezeBackward4",
)
def _squeeze_product(xp: Any, self: Array, dim: int) -> Any:
    """Drop a dimension of a product that nobody else sees."""
    return self.reshape(self.shape[:dim] + self.shape[dim + 1 :])


@method("matmul", function=True)
@composed(lambda xp, input, other: xp.matmul(input, other))
@autocasts("matmul")
@with_out(_DOT_DTYPE)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Multiply vectors, matrices or batches of matrices.

    A vector on the left is a row, on the right a column. Leading dimensions are
    broadcast. Raises RuntimeError where inner sizes differ.

    >>> import gradtape as torch
    >>> torch.matmul(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    _check_operands("matmul", input, other)
    m, n = input._data.ndim, other._data.ndim
    if m == 2 and n == 2:
        return mm(input, other)
    if m == 1 and n == 1:
        return dot(input, other)
    if m == 2 and n == 1:
        return mv(input, other)
    if m == 1 and n == 2:
        return _squeeze_product(mm(unsqueeze(input, 0), other), 0)
    if _can_fold(input, other):
        return _folded(input, other)
    return _batched(input, other)


def _refusal(name: str, place: str, position: int, given: Any) -> TypeError:
    error = argument_error(OPS["mm"], place, position, given)
    return TypeError(str(error).replace("mm()", f"{name}()", 1))


def _check_operands(name: str, first: Any, second: Any, last: str = "other") -> None:
    if not isinstance(first, Tensor):
        raise _refusal(name, "input", 1, first)
    if not isinstance(second, Tensor):
        raise _refusal(name, last, 2, second)
    if first._data.ndim == 0 or second._data.ndim == 0:
        raise RuntimeError(
            f"both arguments to {name} need to be at least 1D, but they are "
            f"{first.dim()}D and {second.dim()}D"
        )


def _can_fold(first: Tensor, second: Tensor) -> bool:
    """Tell whether a batch and a matrix are better one product of two matrices."""
    large, small = (
        (first, second) if first._data.ndim >= second._data.ndim else (second, first)
    )
    if large._data.ndim < 3 or small._data.ndim > 2:
        return False
    if small.requires_grad:
        return True  # else the backward would need a large sum
    if first._data.ndim == 2:
        return False
    if not large.numel():
        return True
    turned = large if large is first else transpose(large, -2, -1)
    shape, strides = turned.shape, turned.stride()
    return all(
        strides[i] == strides[i + 1] * shape[i + 1] for i in range(len(shape) - 2)
    )


def _folded(first: Tensor, second: Tensor) -> Tensor:
    large_first = first._data.ndim >= second._data.ndim
    if large_first:
        large, small = first, second
    else:
        large = transpose(second, -2, -1)
        small = t(first) if first._data.ndim == 2 else first
    *lead, inner = large._data.shape
    rows = reshape(large, (math.prod(lead), inner))
    if small._data.ndim == 1:
        return _unsafe_view(mv(rows, small), (*lead,))
    found = _unsafe_view(mm(rows, small), (*lead, small._data.shape[1]))
    return found if large_first else transpose(found, -2, -1).contiguous()


def _batched(first: Tensor, second: Tensor) -> Tensor:
    m, n = first._data.ndim, second._data.ndim
    batch1, batch2 = first._data.shape[:-2], second._data.shape[:-2]
    if m == n == 3 and batch1 != batch2:
        if batch1[0] == 1 and first.requires_grad:
            return matmul(first.squeeze(0), second)
        if batch2[0] == 1 and second.requires_grad:
            return matmul(first, second.squeeze(0))
    batch = batch1 if batch1 == batch2 else common_shape(batch1, batch2)
    count = math.prod(batch)
    left = first._data.shape[-2:] if m > 1 else (1, first._data.shape[-1])
    right = second._data.shape[-2:] if n > 1 else (second._data.shape[-1], 1)
    lefts = reshape(first.expand((*batch, *left)), (count, *left))
    if n == 1:
        flat = reshape(second.expand((*batch, right[0])), (count, right[0]))
        found = bmm(lefts, unsqueeze(flat, 2)).squeeze(-1)
        return _unsafe_view(found, (*batch, left[0]))
    rights = reshape(second.expand((*batch, *right)), (count, *right))
    size = (*batch, left[0], right[1]) if m > 1 else (*batch, right[1])
    return _unsafe_view(bmm(lefts, rights), size)


@autocasts("linear")
@with_out(SAME_DTYPE)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias`` for inputs of any rank.

    ``weight`` is (out, in). Raises RuntimeError where sizes do not meet.
    """
    _check_operands("linear", input, weight, "weight")
    array = input._data
    if bias is None:
        return matmul(input, t(weight))
    if not isinstance(bias, Tensor):
        raise _refusal("linear", "bias", 3, bias)
    if weight.dim() == 1 and bias.dim():
        raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
    if array.ndim == 2:
        return addmm(bias, input, t(weight))
    if array.flags.c_contiguous and weight.dim() == 2:
        rows = view(input, (-1, array.shape[-1]))
        found = addmm(bias, rows, t(weight))
        return view(found, (*array.shape[:-1], weight.shape[0]))
    return matmul(input, t(weight)).add_(bias)


@public
@method("outer")
@with_out(PLAIN)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Multiply each element of one vector with each of another."""
    check_tensors("outer", input=input, vec2=vec2)
    for name, tensor in (("self", input), ("vec2", vec2)):
        if tensor.dim() != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {tensor.dim()}-D"
            )
    return reshape(input, (input.shape[0], 1)) * vec2


ger = outer


@public
@method("inner")
@with_out(PLAIN)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sum products over the last dimension of both tensors."""
    check_tensors("inner", input=input, other=other)
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got "
            f"shapes {list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@public
@autocasts("tensordot")
@with_out(_TENSORDOT_DTYPE)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum products over pairs of dimensions.

    ``dims`` is how many, last of ``a`` with first of ``b``, or two lists of them.
    """
    over_a, over_b = _contracted(a, b, dims)
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for da, db in zip(over_a, over_b, strict=True):
        length_a, length_b = a.size(da), b.size(db)
        if length_b == 1:
            a = a.sum(da, True, dtype=a.dtype)
        elif length_a == 1:
            b = b.sum(db, True, dtype=b.dtype)
        elif length_a != length_b:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {length_a} "
                f"in dim {da} and second has size {length_b} in dim {db}"
            )
    over_a, over_b = wrap_dims(over_a, a.dim()), wrap_dims(over_b, b.dim())
    free_a = [d for d in range(a.dim()) if d not in over_a]
    free_b = [d for d in range(b.dim()) if d not in over_b]
    shared = math.prod(a.shape[d] for d in over_a)
    rows, columns = [a.shape[d] for d in free_a], [b.shape[d] for d in free_b]
    left = a.permute((*free_a, *over_a)).reshape(math.prod(rows), shared)
    right = b.permute((*over_b, *free_b)).reshape(shared, math.prod(columns))
    if not rows and not columns:
        return dot(left.reshape(shared), right.reshape(shared)).reshape(())
    return reshape(mm(left, right), (*rows, *columns))


def _contracted(a: Tensor, b: Tensor, dims: Any) -> tuple[Sizes, Sizes]:
    """Return which dimensions of each tensor ``tensordot`` sums over, as given."""
    if isinstance(dims, Tensor):
        if dims.numel() > 1 and len(dims) != 2:
            raise AssertionError(
                f"dims tensor must have size 2 in first dimension, got {len(dims)}"
            )
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    elif isinstance(dims, int) and dims > min(a.dim(), b.dim()):
        raise RuntimeError(
            f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"
        )
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        return tuple(range(-dims, 0)), tuple(range(dims))
    if not isinstance(dims, list | tuple):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or "
            f"list[list[int]] containing two lists, but got dims={dims}"
        )
    over_a, over_b = dims
    return (
        sizes(over_a, "tensordot", "dims_self", 3),
        sizes(over_b, "tensordot", "dims_other", 4),
    )
