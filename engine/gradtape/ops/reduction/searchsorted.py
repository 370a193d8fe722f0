"""Looking elements up in others: isin, searchsorted, bucketize."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._common.type_name import type_name
from ..._common.warn import warn_once
from ..._dispatch.declare import public
from ..._dtypes import DTYPE_OF, int32, int64, promote_types
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._support.arguments import as_bool, check_tensor
from .._support.out_argument import SAME_DTYPE, handed_over
from ..creation.from_data import as_tensor

_ISIN = "Unsupported input type encountered for isin(): {}"
_SCATTERED = (
    "torch.searchsorted(): {name} tensor is non-contiguous, this will lower the "
    "performance due to extra data copy when converting non-contiguous tensor to "
    "contiguous, please use contiguous {name} tensor if possible. This message will "
    "only appear once per program."
)
_SORTED = "torch.searchsorted(): "


@public
def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Tell which elements are among the test elements; ``invert`` tells which not.

    >>> import gradtape as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    given = (elements, test_elements)
    if not any(isinstance(each, Tensor) for each in given) or any(
        not isinstance(each, Tensor | int | float | complex) for each in given
    ):
        kinds = ", ".join(type_name(each) for each in given)
        raise TypeError(
            "isin() received an invalid combination of arguments - got "
            f"({kinds}), but expected one of:\n"
            " * (Tensor elements, Tensor test_elements, *, bool assume_unique = False, "
            "bool invert = False, Tensor out = None)\n"
            " * (Number element, Tensor test_elements, *, bool assume_unique = False, "
            "bool invert = False, Tensor out = None)\n"
            " * (Tensor elements, Number test_element, *, bool assume_unique = False, "
            "bool invert = False, Tensor out = None)\n"
        )
    arrays = [as_tensor(each)._data for each in given]
    for array in arrays:
        if array.dtype.kind in "bc":
            raise RuntimeError(_ISIN.format(DTYPE_OF[array.dtype].cpp_name))
    xp = backend_of(arrays[0]).xp
    found = mode.run(xp.isin, *arrays, invert=invert)
    return handed_over("isin", found, out, SAME_DTYPE)


@public
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return where values would go in rows that are sorted, to keep them sorted.

    Before equal elements; behind them with ``right=True`` or ``side="right"``.
    ``sorter`` puts the rows in order first. One row serves values of any shape, rows of
    more dimensions those of the same.

    >>> import gradtape as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    rows = check_tensor(sorted_sequence, "searchsorted", "sorted_sequence")
    values = input if isinstance(input, Tensor) else _scalar_like(input, rows)
    as_bool(out_int32, "searchsorted", "out_int32", 3)
    as_bool(right, "searchsorted", "right", 4)
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"{_SORTED}side can only be 'left' or 'right' but got {side}"
        )
    if right and side == "left":
        raise RuntimeError(
            f"{_SORTED}side and right can't be set to opposites, got side of left while"
            " right was True"
        )
    _check_sorter(rows, sorter)
    _check_rows(rows, values)
    _check_out(out, out_int32)
    for name, each in (("input value", values), ("boundary", rows), ("sorter", sorter)):
        if each is not None and not each.is_contiguous():
            warn_once(_SCATTERED.format(name=name))
    kind = promote_types(rows.dtype, values.dtype)
    if not kind.is_floating_point and kind.numpy.kind not in "iu":
        raise NotImplementedError(
            f"\"searchsorted_out_cpu\" not implemented for '{kind.cpp_name}'"
        )
    order = None if sorter is None else sorter._data
    found = mode.run(
        _found,
        rows._data.astype(kind.numpy, copy=False),
        values._data.astype(kind.numpy, copy=False),
        "right" if right else side or "left",
        order,
    )
    kind = int32 if out_int32 else int64
    return handed_over("searchsorted", found.astype(kind.numpy), out)


@public
def bucketize(
    input: Any,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the number of the interval, between boundaries, that each value is in.

    >>> import gradtape as torch
    >>> torch.bucketize(torch.tensor([0.5, 3.0]), torch.tensor([1.0, 2.0]))
    tensor([0, 2])
    """
    if check_tensor(boundaries, "bucketize", "boundaries", 2).dim() != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def _scalar_like(value: Any, rows: Tensor) -> Tensor:
    found = as_tensor(value)
    same_kind = found.dtype.is_floating_point <= rows.dtype.is_floating_point
    return found.to(rows.dtype) if same_kind else found


def _check_sorter(rows: Tensor, sorter: Tensor | None) -> None:
    if sorter is None:
        return
    if sorter.shape != rows.shape:
        raise RuntimeError(
            f"{_SORTED}boundary and sorter must have the same size, but got boundary "
            f"tensor {list(rows.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype is not int64:
        raise RuntimeError(
            f"{_SORTED}sorter must be a tensor of long dtype but got dtype "
            f"{sorter.dtype.cpp_name}"
        )
    places = sorter._data
    if places.size and (places.min() < 0 or places.max() >= rows.shape[-1]):
        raise RuntimeError(f"{_SORTED}sorter index out of range")


def _check_rows(rows: Tensor, values: Tensor) -> None:
    if not values.dim() and rows.dim() != 1:
        raise RuntimeError(
            f"{_SORTED}input value can be a scalar only when boundaries tensor "
            f"dimension is 1, but we got boundaries tensor dim({rows.dim()}) and input "
            f"value's dim({values.dim()}) numel({values.numel()})"
        )
    if not rows.dim():
        raise RuntimeError(
            f"{_SORTED}boundaries tensor should have positive dimension, but got 0 "
            "dimension"
        )
    if rows.dim() != 1 and rows.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            f"{_SORTED}boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we "
            f"got boundaries tensor {list(rows.shape)} and input value tensor "
            f"{list(values.shape)}"
        )


def _check_out(out: Tensor | None, out_int32: bool) -> None:
    if out is not None and out.dtype is not (int32 if out_int32 else int64):
        raise RuntimeError(
            f"{_SORTED}output tensor's dtype is wrong, it can only be Int(int32) or "
            "Long(int64) depending on whether out_int32 flag is True, but we got output"
            f" tensor's dtype {out.dtype.cpp_name} and out_int32 flag is {out_int32}"
        )


def _found(rows: Any, values: Any, side: str, order: Any) -> Any:
    xp = backend_of(rows).xp
    if rows.dtype.kind == "V":  # NumPy has no order for bfloat16's NaNs
        rows, values = rows.astype("float32"), values.astype("float32")
    if order is not None:
        rows = xp.take_along_axis(rows, order, -1)
    if rows.ndim == 1:
        return xp.asarray(xp.searchsorted(rows, values, side))
    found = xp.empty(values.shape, np.int64)
    for at in np.ndindex(rows.shape[:-1]):
        found[at] = xp.searchsorted(rows[at], values[at], side)
    return found
