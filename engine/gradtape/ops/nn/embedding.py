"""Rows of a table by their numbers, one by one or in bags."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from ..._backend import backend_of
from ..._dispatch.apply import apply
from ..._dispatch.declare import FUNCTIONS, OPS, Array, op, public
from ..._dispatch.inplace import note_write
from ..._dtypes import DTYPE_OF
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from .._support.operands import hidden_op
from .._support.special import widened


def check_indices(name: str, indices: Any) -> None:
    if indices.dtype.name not in ("int64", "int32"):
        kind = DTYPE_OF[indices.dtype].cpp_name
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following "
            f"scalar types: Long, Int; but got torch.{_tensor_name(kind)} instead "
            f"(while checking arguments for {name})"
        )


def _tensor_name(kind: str) -> str:
    return f"{kind}Tensor"


def _derivative(
    F: Any,
    grad: Any,
    weight_shape: Any,
    indices: Any,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:
    rows = weight_shape[0]
    if sparse:
        check_frequency(scale_grad_by_freq)
        return sparse_rows(F, grad, indices, rows, padding_idx)
    return F.embedding_dense_backward(
        grad, indices, rows, padding_idx, scale_grad_by_freq
    )


def check_frequency(scale_grad_by_freq: bool) -> None:
    """Refuse to scale sparse gradients by how often a row was looked up."""
    if scale_grad_by_freq:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )


def sparse_rows(F: Any, grad: Any, indices: Any, rows: int, padding_idx: int) -> Any:
    """Keep each looked-up row's gradient with its index: the table's, sparse."""
    width = grad.shape[-1]
    values = F.view(grad, (prod(indices.shape), width))
    places = F._embedding_places(indices, padding_idx)
    if padding_idx >= 0:
        values = F.index_select(values, 0, places)
    found = F._embedding_rows_at(indices, places)
    return F._sparse_coo(values, found, (rows, width), False)


@op(
    {"weight": _derivative},
    method=False,
)
def embedding(
    xp: Any,
    weight: Array,
    indices: Array,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return a row of ``weight`` for each index.

    Raises IndexError for an index outside of the table.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", indices)
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    return xp.take(weight, indices, axis=0)


@hidden_op(
    {
        "grad_output": lambda F, grad, indices, padding_idx: F._embedding_rows(
            grad, indices, padding_idx
        )
    }
)
def embedding_dense_backward(
    xp: Any,
    grad_output: Array,
    indices: Array,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Any:
    """Add each looked-up row's gradient to the table's."""
    width = grad_output.shape[-1]
    found = xp.zeros((num_weights, width), grad_output.dtype)
    flat = indices.reshape(-1)
    rows = grad_output.reshape(flat.size, width)
    if padding_idx >= 0:
        kept = flat != padding_idx
        flat, rows = flat[kept], rows[kept]
    if not flat.size:
        return found
    wide = widened(rows)
    if wide is not rows and not scale_grad_by_freq:  # PyTorch rounds at each row
        xp.add.at(found, flat, rows)
        return found
    # Sorted, equal indices are neighbours: one reduceat adds them up.
    order = xp.argsort(flat, kind="stable")
    ordered = flat[order]
    begins = xp.concatenate(
        [xp.zeros(1, xp.int64), xp.nonzero(ordered[1:] != ordered[:-1])[0] + 1]
    )
    sums = xp.add.reduceat(wide[order], begins, axis=0)
    if scale_grad_by_freq:
        counts = xp.diff(xp.concatenate([begins, xp.asarray([flat.size])]))
        sums = sums / counts[:, None].astype(sums.dtype)
    found[ordered[begins]] = sums
    return found


@hidden_op({})
def _embedding_places(xp: Any, indices: Array, padding_idx: int) -> Any:
    """Return which look-ups get a gradient, as positions among all of them."""
    return xp.nonzero(indices.reshape(-1) != padding_idx)[0]


@hidden_op({})
def _embedding_rows_at(xp: Any, indices: Array, places: Array) -> Any:
    """Return the rows looked up there as coordinates of a sparse tensor."""
    return indices.reshape(-1)[places].astype(xp.int64)[None]


@hidden_op(
    {
        "self": lambda F, grad, self_shape, indices, padding_idx: (
            F.embedding_dense_backward(grad, indices, self_shape[0], padding_idx, False)
        )
    }
)
def _embedding_rows(xp: Any, self: Array, indices: Array, padding_idx: int) -> Any:
    """Read rows at indices; the padding's row is zero.

    As in PyTorch, how frequent an index is plays no part in the second derivative.
    """
    found = xp.take(self, indices, axis=0)
    if padding_idx >= 0:
        found[indices == padding_idx] = 0
    return found


@hidden_op({})
def one_hot(xp: Any, self: Array, num_classes: int = -1) -> Any:
    """Return rows with a 1 at the index and 0 elsewhere."""
    if self.dtype.name != "int64":
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor."
        )
    if not self.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if self.size and self.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    classes = int(self.max()) + 1 if num_classes == -1 else num_classes
    if self.size and self.max() >= classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    found = xp.zeros((*self.shape, classes), xp.int64)
    xp.put_along_axis(found, self[..., None], 1, -1)
    return found


@public
def embedding_renorm_(
    input: Tensor, indices: Tensor, max_norm: float, norm_type: float
) -> Tensor:
    """Scale the rows that are looked up and too long down to a norm, in place."""
    with no_grad():
        rows = backend_of(input._data).xp.unique(indices._data)
        found = input._data[rows]
        sizes = (abs(found) ** norm_type).sum(1) ** (1 / norm_type)
        long = sizes > max_norm
        if long.any():
            scale = max_norm / (sizes[long] + 1e-7)
            input._data[rows[long]] = found[long] * scale[:, None]
            note_write(input, "embedding_renorm_")
    return input


SUM: Final = 0
MEAN: Final = 1
MAX: Final = 2


# ---- gradients ----


def _of_weight(
    F: Any,
    grad: Any,
    weight_shape: Any,
    indices: Any,
    per_sample_weights: Any,
    result1: Any,
    result2: Any,
    result3: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    padding_idx: int,
) -> Any:
    rows = weight_shape[0]
    if mode == MAX:
        return F._bag_spread(grad[0], result3, result2, rows)
    shares = F._bag_shares(grad[0], result2) if mode == MEAN else grad[0]
    each = F.index_select(shares, 0, result1)
    used = result1.shape[0]  # the last offset may end before the indices do
    if per_sample_weights is not None:
        each = each * F.unsqueeze(per_sample_weights[:used], 1)
    if sparse:
        check_frequency(scale_grad_by_freq)
        return sparse_rows(F, each, indices[:used], rows, padding_idx)
    return F.embedding_dense_backward(
        each, indices[:used], rows, padding_idx, scale_grad_by_freq
    )


def _of_factors(
    F: Any, grad: Any, weight: Any, indices: Any, result1: Any, padding_idx: int
) -> Any:
    each = F.index_select(grad[0], 0, result1)
    rows = F._embedding_rows(weight, indices[: result1.shape[0]], padding_idx)
    return F._bag_factors((each * rows).sum(1), indices)


@hidden_op({"grad": lambda F, grad, sizes: F._bag_shares(grad, sizes)})
def _bag_shares(xp: Any, grad: Array, sizes: Array) -> Any:
    """Divide the gradient of each bag by the number of rows in it."""
    return grad / xp.maximum(sizes, 1).astype(grad.dtype)[:, None]


@hidden_op(
    {"grad": lambda F, grad, winners, sizes: F._bag_gather(grad, winners, sizes)}
)
def _bag_spread(
    xp: Any, grad: Array, winners: Array, sizes: Array, num_weights: int
) -> Any:
    """Add the gradient of each largest element to the row it was in."""
    found = xp.zeros((num_weights, grad.shape[1]), grad.dtype)
    full = sizes > 0
    columns = xp.arange(grad.shape[1])[None]
    xp.add.at(found, (winners[full], columns), grad[full])
    return found


@hidden_op(
    {
        "self": lambda F, grad, self_shape, winners, sizes: F._bag_spread(
            grad, winners, sizes, self_shape[0]
        )
    }
)
def _bag_gather(xp: Any, self: Array, winners: Array, sizes: Array) -> Any:
    """Read the elements that were the largest; 0 for empty bags."""
    found = xp.take_along_axis(self, winners, axis=0)
    return xp.where(sizes[:, None] > 0, found, found.dtype.type(0))


@hidden_op({"self": lambda F, grad, self_shape: grad[: self_shape[0]]})
def _bag_factors(xp: Any, self: Array, indices: Array) -> Any:
    """Fill up with zeros: what is beyond the last bag plays no part."""
    found = xp.zeros(indices.shape, self.dtype)
    found[: self.size] = self
    return found


# ---- the op ----


@hidden_op(
    {"weight": _of_weight, "per_sample_weights": _of_factors},
    name="embedding_bag",
    node="EmbeddingBagBackward0",
    outputs=4,
)
def _embedding_bag_rows(
    xp: Any,
    weight: Array,
    indices: Array,
    offsets: Array,
    per_sample_weights: Array | None,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    include_last_offset: bool,
    padding_idx: int,
) -> Any:
    check_indices("embedding_bag", indices)
    check_indices("embedding_bag", offsets)
    whole = mode == MAX or padding_idx >= 0
    lengths = _lengths(xp, weight, indices, offsets, include_last_offset, whole)
    beyond = indices.size - int(lengths.sum()) if lengths.size else 0
    if whole and beyond > 0:
        lengths[-1] += beyond
    bag_of = xp.repeat(xp.arange(lengths.size), lengths)
    flat, rows = indices[: bag_of.size], xp.take(weight, indices[: bag_of.size], axis=0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[: bag_of.size, None]
    within = bag_of
    if padding_idx >= 0:
        kept = flat != padding_idx
        flat, rows, within = flat[kept], rows[kept], bag_of[kept]
    sizes = xp.bincount(within, minlength=lengths.size)
    found, winners = _reduced(xp, rows, flat, within, sizes, mode)
    if mode == MEAN:
        if beyond > 0 and not whole:
            sizes[-1] += beyond
        found /= xp.maximum(sizes, 1).astype(rows.dtype)[:, None]
    return found, bag_of, sizes, winners


_FAST = (
    "Index {at} of input takes value {index} which is not in the valid range "
    "[0, {rows})"
)
_WHOLE = (
    "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
    "{index}"
)


def _lengths(
    xp: Any, weight: Any, indices: Any, offsets: Any, last: bool, whole: bool
) -> Any:
    """Return how many indices each bag has.

    PyTorch has two ways. One, for sums and means without padding, heeds the last
    offset, though means divide by all indices up to the end. The other, ``whole``,
    gives the last bag all that is left.
    """
    if last and not offsets.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    size, rows = indices.size, weight.shape[0]
    if offsets.size and offsets[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
            f"start from position 0. However, got {int(offsets[0])}"
        )
    if offsets.size and offsets[-1] > size:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {size} but got "
            f"offsets[-1] of {int(offsets[-1])}"
        )
    wrong = xp.nonzero((indices < 0) | (indices >= rows))[0]
    if wrong.size:
        raise RuntimeError(
            (_WHOLE if whole else _FAST).format(
                at=int(wrong[0]), index=int(indices[wrong[0]]), rows=rows
            )
        )
    ends = offsets if last else xp.append(offsets, size)
    return xp.diff(ends)


def _reduced(
    xp: Any, rows: Any, flat: Any, within: Any, sizes: Any, mode: int
) -> tuple[Any, Any]:
    """Return one row per bag and, for maxima, which row of the table each is from."""
    found = xp.zeros((sizes.size, rows.shape[1]), rows.dtype)
    winners = xp.zeros(found.shape, xp.int64) if mode == MAX else sizes
    full = sizes > 0
    if not full.any():
        return found, winners
    begins = (xp.cumsum(sizes) - sizes)[full]
    if mode == MAX:
        found[full] = xp.maximum.reduceat(rows, begins, axis=0)
        is_it = (rows == found[within]) | xp.isnan(rows)
        place = xp.where(is_it, xp.arange(flat.size)[:, None], flat.size)
        winners[full] = flat[xp.minimum.reduceat(place, begins, axis=0)]
        return found, winners
    found[full] = xp.add.reduceat(widened(rows), begins, axis=0)
    return found, winners


@public
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, ...]:
    """Return rows of ``weight`` reduced bag by bag, and three tensors about the bags.

    Bags begin at ``offsets``; ``mode`` is 0 for sums, 1 for means, 2 for maxima. The
    others are the bag of each index, the size of each bag without padding, and for
    maxima the row of each. Raises RuntimeError for indices and offsets out of range.

    >>> import gradtape as torch
    >>> table, at = torch.eye(3), torch.tensor([0, 1, 1])
    >>> torch.embedding_bag(table, at, torch.tensor([0, 1]))[0]
    tensor([[1., 0., 0.],
            [0., 2., 0.]])
    """
    for name, given, ranks in (
        ("input", indices, (1, 2)),
        ("offsets", offsets, (1,)),
        ("weight", weight, (2,)),
    ):
        if given.dim() not in ranks:
            shown = " or ".join(f"{rank}D" for rank in ranks)
            raise RuntimeError(
                f"{name} has to be a {shown} Tensor, but got Tensor of dimension "
                f"{given.dim()}"
            )
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            "padding_idx must be within the number of embeddings, "
            f"{-rows} through {rows - 1}, but got {padding_idx}"
        )
    skipped = -1 if padding_idx is None else padding_idx % rows
    tensors = (weight, indices, offsets, per_sample_weights)
    options = (scale_grad_by_freq, mode, sparse, include_last_offset, skipped)
    return apply(OPS["embedding_bag"], tensors, options)


@public
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, ...]:
    """Do what embedding_bag() does; -1 stands for no padding."""
    how = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset)
    skipped = None if padding_idx < 0 else padding_idx
    return embedding_bag(weight, indices, offsets, *how, skipped)


FUNCTIONS["_embedding_bag_forward_only"] = _embedding_bag
