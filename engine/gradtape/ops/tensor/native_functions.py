"""Single ops of PyTorch's table that its functions are made of, under their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch.declare import FUNCTIONS, Array, public, tensor_ops
from ..._dtypes import bool_, get_default_dtype, uint8
from ..._tensor.tensor import Tensor
from .._support.arguments import float_argument, sizes, wrap_dim
from .._support.operands import hidden_op
from .._support.out_argument import into, with_out
from ..memory.to_python import item
from ..nn.interpolate import MODES
from ..nn.norm import native_batch_norm

# ---- dropout ----


@hidden_op(
    {
        "input": lambda F, grad, mask, scale: F.native_dropout_backward(
            grad, mask, scale
        )
    },
    name="native_dropout",
    key="_native_dropout",
)
def _native_dropout(xp: Any, input: Array, mask: Array, scale: float) -> Any:
    return xp.asarray(input * mask * input.dtype.type(scale))


@hidden_op(
    {
        "grad_output": lambda F, grad, mask, scale: F.native_dropout_backward(
            grad, mask, scale
        )
    }
)
def native_dropout_backward(
    xp: Any, grad_output: Array, mask: Array, scale: float
) -> Any:
    """Return the gradient of what dropout kept."""
    kept = grad_output * mask
    if kept.dtype.kind in "iub":
        kept = kept.astype(get_default_dtype().numpy)
    return xp.asarray(kept * kept.dtype.type(scale))


@public
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Any]:
    """Return what dropout keeps, divided by the share kept, and where it was kept.

    ``train=False`` keeps everything; None is as True.
    """
    p = float_argument(p, "native_dropout", "p", 2)
    if train is False:
        return input.clone(), FUNCTIONS["ones_like"](input, dtype=bool_)
    mask = FUNCTIONS["empty_like"](input, dtype=bool_)
    if p < 1:
        mask.bernoulli_(1 - p)
    else:
        mask.zero_()
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return tensor_ops._native_dropout(input, mask, scale), mask


# ---- batch norm ----


@public
@with_out("expected scalar type {result} but found {out}")
def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise channels: native_batch_norm, with or without running statistics."""
    mean, var, training, momentum, eps = rest if len(rest) == 5 else (None, None, *rest)
    return native_batch_norm(input, weight, bias, mean, var, training, momentum, eps)


def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    found = native_batch_norm(
        input, weight, bias, running_mean, running_var, True, momentum, eps
    )
    return (*found, FUNCTIONS["empty"](0, dtype=uint8))


# ---- indexing by places that may lie outside ----


def _inside(self: Tensor, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Bring indices into the tensor; what they find there will be masked."""
    return [
        None if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, self.shape, strict=False)
    ]


@public
def _unsafe_masked_index(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: float
) -> Tensor:
    """Index where the mask is true; elsewhere the places are ignored for ``fill``."""
    if not input.numel():
        shape = FUNCTIONS["empty"](input.shape).expand(input.shape)
        return input.new_full(shape.shape, fill)
    places = tuple(slice(None) if i is None else i for i in _inside(input, indices))
    return input[places].masked_fill(mask.logical_not(), fill)


@public
def _unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """Add values at places where the mask is true."""
    if not input.numel():
        return input.clone()
    kept = values.masked_fill(mask.logical_not(), 0)
    places = tuple(_inside(input, indices))
    return FUNCTIONS["index_put"](input, places, kept, accumulate=True)


# ---- memory ----


@public
def empty_permuted(
    size: Any,
    physical_layout: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor whose dims lie in memory in the order ``physical_layout``.

    Raises RuntimeError where that is no order of its dims.

    >>> import gradtape as torch
    >>> torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
    (3, 1, 6)
    """
    shape = sizes(size, "empty_permuted")
    if len(shape) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the "
            f"physical_layout; i.e. len(size) = {len(shape)} is not equal to "
            f"len(physical_layout) = {len(physical_layout)}"
        )
    seen: list[int] = []
    for at, dim in enumerate(physical_layout):
        if not 0 <= dim < len(shape):
            raise RuntimeError(
                "Dimension out of range (expected to be between 0 and "
                f"{len(shape) - 1}, but got {dim} at index {at}).  NB: negative dims "
                "not currently supported; file an issue if you want it."
            )
        if dim in seen:
            raise RuntimeError("Duplicate dim not allowed")
        seen.append(dim)
    moved = FUNCTIONS["empty"](
        tuple(shape[d] for d in seen), dtype=dtype, layout=layout, device=device
    )
    places = tuple(seen.index(d) for d in range(len(shape)))
    return moved.permute(places).detach().requires_grad_(requires_grad)


@public
def resize_as_(
    input: Tensor, the_template: Tensor, *, memory_format: Any = None
) -> Tensor:
    """Give a tensor the size of another one, in place."""
    return input.resize_as_(the_template, memory_format=memory_format)


@public
def _chunk_cat(
    tensors: Sequence[Tensor],
    dim: int,
    num_chunks: int,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Cut tensors into chunks along ``dim`` and lay the n-th chunks in one row.

    What is missing in a last chunk is filled with zeros.
    """
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    if any(not t.numel() for t in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    if any(dim >= t.dim() for t in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    if dim < 0 and len({t.dim() for t in tensors}) > 1:
        raise RuntimeError(
            "_chunk_cat expects non-negative dim when input tensors have different "
            "ndims"
        )
    axis = wrap_dim(dim, tensors[0].dim())
    if len({tuple(t.shape[:axis]) for t in tensors}) > 1:
        raise RuntimeError(
            "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors"
        )
    parts = [_chunked(t, axis, num_chunks) for t in tensors]
    return FUNCTIONS["cat"](parts, axis + 1, out=out)


def _chunked(tensor: Tensor, axis: int, num_chunks: int) -> Tensor:
    size = tensor.shape[axis]
    length = -(-size // num_chunks)
    pads = (0, 0) * (tensor.dim() - 1 - axis) + (0, length * num_chunks - size)
    whole = FUNCTIONS["constant_pad_nd"](tensor, pads) if any(pads) else tensor
    lead = tuple(whole.shape[:axis])
    return whole.reshape((*lead, num_chunks, -1))


# ---- pooling ----


def _max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """Send each window's gradient to where its largest value was."""
    return tensor_ops._max_pool_backward(grad_output, self, indices, 2, True)


# ---- resizing, softmax ----


def _upsample_bilinear2d_aa(
    input: Tensor,
    output_size: Any,
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
    *,
    scale_factors: Any = None,
) -> Tensor:
    """Resize images smoothly, by their new size or by factors."""
    if scale_factors is not None:
        scales_h, scales_w = scale_factors
        pairs = zip(input.shape[2:], scale_factors, strict=True)
        output_size = [int(n * scale) for n, scale in pairs]
    resize = MODES["bilinear_aa", 4]
    return resize(input, tuple(output_size), align_corners, scales_h, scales_w)


@public
def _softmax_backward_data(
    grad_output: Tensor,
    output: Tensor,
    dim: int,
    input_dtype: Any,
    *,
    grad_input: Tensor | None = None,
) -> Tensor:
    """Return the gradient of what softmax() was called with."""
    given = (grad_output, output)
    return into(
        "_softmax_backward_data",
        grad_input,
        given,
        lambda: tensor_ops._softmax_backward_data(*given, dim),
    )


@public
def _log_softmax_backward_data(
    grad_output: Tensor,
    output: Tensor,
    dim: int,
    input_dtype: Any,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the gradient of what log_softmax() was called with."""
    given = (grad_output, output)
    return into(
        "_log_softmax_backward_data",
        out,
        given,
        lambda: tensor_ops._log_softmax_backward_data(*given, dim),
    )


ONLY_ATEN: dict[str, Any] = {
    "_batch_norm_with_update": _batch_norm_with_update,
    "_upsample_bilinear2d_aa": _upsample_bilinear2d_aa,
    "_local_scalar_dense": item,
    "max_pool2d_with_indices_backward": _max_pool2d_with_indices_backward,
}
"""What has a name in ``ops.aten`` alone."""
