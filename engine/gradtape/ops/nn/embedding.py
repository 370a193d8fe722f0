"""Looking up rows of a table by index, one at a time or in bags; one-hot rows."""

from __future__ import annotations

from math import prod
from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import Array, op, public
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
