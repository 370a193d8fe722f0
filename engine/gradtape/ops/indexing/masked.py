"""Reading and writing by masks and by places in a row: masked_*, take, nonzero."""

from __future__ import annotations

from typing import Any

from ..._backend import backend_of
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method, op
from ..._dispatch.inplace import in_place, inplace, write
from ..._dispatch.operands import common_shape
from ..._dispatch.view_history import check_inplace
from ..._dtypes import CPP_TYPE, DTYPE_OF, int64
from ..._modes.grad_mode import mode
from ..._storage.result_strides import empty_in_order
from ..._tensor.tensor import Tensor
from .._kernels.bitwise_select import choose
from .._support.arguments import as_bool, check_tensor
from .._support.new_tensor import dense_copy, made, row_major
from .._support.operands import hidden_op
from .._support.out_argument import handed_over
from .._support.scalar_range import in_range
from ..tensor.determinism import check_determinism
from ..views.reshape import broadcast_shapes, expanded

# ---- masks ----


_NONZERO_DTYPE = (
    "nonzero: Expected out tensor to have scalar type Long but got scalar type{out}"
)
_SAME_TYPE = "{name}(): self and result must have the same scalar type"


def _check_mask(xp: Any, name: str, mask: Any) -> None:
    if mask.dtype != bool:
        kind = DTYPE_OF[mask.dtype]
        if name != "masked_select":
            raise RuntimeError(
                f"{name}_ only supports boolean masks, but got mask with dtype "
                f"{kind.cpp_name if name == 'masked_scatter' else CPP_TYPE[kind]}"
            )
        raise RuntimeError(f"{name}: expected BoolTensor for mask")


def _masked(xp: Any, self: Any, mask: Any, value: Any) -> Any:
    common_shape(mask.shape, self.shape)
    _check_mask(xp, "masked_fill", mask)
    return row_major(xp, choose(xp, mask, xp.asarray(value).astype(self.dtype), self))


@hidden_op(
    {"self": lambda F, grad, mask: F._masked_fill_value(grad, mask, 0)},
    name="masked_fill",
    key="_masked_fill_value",
)
def _masked_fill_value(xp: Any, self: Array, mask: Array, value: Any) -> Any:
    """Write one number where the mask is true."""
    return _masked(xp, self, mask, value)


@hidden_op(
    {
        "self": lambda F, grad, mask: F._masked_fill_value(grad, mask, 0),
        "value": lambda F, grad, mask: F.sum(grad * mask),
    },
    name="masked_fill",
    key="_masked_fill_tensor",
    node="MaskedFillBackward1",
)
def _masked_fill_tensor(xp: Any, self: Array, mask: Array, value: Array) -> Any:
    """Write the value of a 0-d tensor where the mask is true."""
    return _masked(xp, self, mask, value)


def _masked_fill_call(self: Tensor, mask: Tensor, value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got "
                f"tensor with {value.dim()} dimension(s)."
            )
        if value.dtype is not self.dtype and value.device.type != "meta":
            in_range(value.item(), self.dtype)
        return OPS["_masked_fill_tensor"], (self, mask, value), ()
    return OPS["_masked_fill_value"], (self, mask), (in_range(value, self.dtype),)


@method(function=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write one number where the mask is true; mask and tensor broadcast.

    >>> import gradtape as torch
    >>> torch.zeros(2).masked_fill(torch.tensor([True, False]), 5)
    tensor([5., 0.])
    """
    check_tensor(mask, "masked_fill", "mask", 2)
    return apply(*_masked_fill_call(input, mask, value))


@method()
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place version of masked_fill()."""
    check_tensor(mask, "masked_fill_", "mask", 1)
    return write(*_masked_fill_call(self, mask, value))


def _refuse_mapped(_name: str, _self: Tensor, mask: Tensor) -> None:
    now = mode.now
    if now.watch is not None and now.task is None:  # masked_scatter's gradient may
        now.watch.check_selection(mask)


@op(
    {
        "self": lambda F, grad, self, mask: F.masked_scatter(
            F._new_zeros(grad, _broadcast(self.shape, mask.shape)), mask, grad
        )
    },
    out=True,
    out_rule=_SAME_TYPE,
    check=_refuse_mapped,
)
def masked_select(xp: Any, self: Array, mask: Array) -> Any:
    """Return, in one row, the elements where the mask is true."""
    _check_mask(xp, "masked_select", mask)
    common_shape(mask.shape, self.shape)
    whole, where = xp.broadcast_arrays(self, mask)
    return whole[where]


def _broadcast(a: Any, b: Any) -> tuple[int, ...]:
    return tuple(broadcast_shapes(tuple(a), tuple(b)))


@op(
    {
        "self": lambda F, grad, mask: F._masked_fill_value(grad, mask, 0),
        "source": lambda F, grad, mask, source_shape: F._padded(
            F.masked_select(grad, mask), source_shape
        ),
    }
)
def masked_scatter(xp: Any, self: Array, mask: Array, source: Array) -> Any:
    """Write the elements of ``source``, in their order, where the mask is true."""
    common_shape(mask.shape, self.shape)
    _check_mask(xp, "masked_scatter", mask)
    if self.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{DTYPE_OF[self.dtype].cpp_name} and {DTYPE_OF[source.dtype].cpp_name}"
        )
    whole, where = xp.broadcast_arrays(self, mask)
    count = int(where.sum())
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    result = whole.copy()
    result[where] = source.reshape(-1)[:count]
    return result


@hidden_op(
    {
        "self": lambda F, grad, self_shape: F.view(
            F.slice(F.reshape(grad, (-1,)), 0, 0, self_shape[0], 1), self_shape
        )
    }
)
def _padded(xp: Any, self: Array, size: tuple[int, ...]) -> Any:
    """Put a row of elements at the front of zeros of a size."""
    whole = xp.zeros(size, self.dtype)
    whole.reshape(-1)[: self.size] = self
    return whole


_write_scattered = in_place(OPS["masked_scatter"])


@method()
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place version of masked_scatter(); the mask is expanded to the tensor."""
    check_tensor(mask, "masked_scatter_", "mask", 1)
    check_tensor(source, "masked_scatter_", "source", 2)
    if mask._data.shape != self._data.shape:
        try:
            mask = expanded(mask, self._data.shape)
        except RuntimeError:
            check_inplace(
                self, mode.grad and (self.requires_grad or source.requires_grad)
            )
            raise
    return _write_scattered(self, mask, source)


# ---- places in a row ----


def _check_long(name: str, index: Any) -> None:
    if index.dtype is not int64:
        raise RuntimeError(
            f"{name}(): Expected a long tensor for index, but got "
            f"{index.dtype.cpp_name}"
        )


def _check_take(_name: str, self: Tensor, index: Tensor) -> None:
    _check_long("take", index)
    if not self.numel() and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")


def _check_put(
    _name: str, self: Tensor, index: Tensor, source: Tensor, *_: Any
) -> None:
    _check_long("put_", index)
    if self.dtype is not source.dtype:
        mine, theirs = self.dtype.cpp_name, source.dtype.cpp_name
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got "
            f"self.dtype = {mine} and source.dtype = {theirs}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, "
            f"but got source.numel() = {source.numel()}, index.numel() = "
            f"{index.numel()}"
        )
    if not self.numel() and index.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")


def _row_places(index: Any, numel: int) -> Any:
    wrong = (index < -numel) | (index >= numel)
    if wrong.any():
        raise IndexError(
            f"out of range: tried to access index {int(index[wrong][0])} on a tensor "
            f"of {numel} elements."
        )
    return index


@op(
    {
        "self": lambda F, grad, self, index: F.put(
            F._new_zeros(grad, self.shape), index, grad, True
        )
    },
    check=_check_take,
    out=True,
    out_rule=(
        "take(): self and out expected to have the same dtype, but got self.dtype = "
        "{result} and out.dtype = {out}"
    ),
)
def take(xp: Any, self: Array, index: Array) -> Any:
    """Take elements by their places in a row, in the shape of ``index``."""
    places = _row_places(index, self.size)
    return row_major(xp, self.reshape(-1)[places])


@op(
    {
        "self": lambda F, grad, index, source, accumulate: (
            grad if accumulate else F.put(grad, index, F.zeros_like(source), False)
        ),
        "source": lambda F, grad, index, source: F.reshape(
            F.take(grad, index), source.shape
        ),
    },
    check=_check_put,
)
def put(
    xp: Any, self: Array, index: Array, source: Array, accumulate: bool = False
) -> Any:
    """Write elements at their places in a row; ``accumulate`` adds them instead."""
    row = self.reshape(-1).copy()
    places = _row_places(index, self.size).reshape(-1)
    if not accumulate:
        check_determinism("put_")
    if accumulate:
        xp.add.at(row, places, source.reshape(-1))
    else:
        row[places] = source.reshape(-1)
    result = dense_copy(xp, self)
    result[...] = row.reshape(self.shape)
    return result


inplace("put")


# ---- where elements are ----


@method(function=True)
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Return where the elements are not zero: one row of positions per element.

    With ``as_tuple``, one vector of positions per dimension.

    >>> import gradtape as torch
    >>> torch.tensor([[0, 1], [2, 0]]).nonzero()
    tensor([[0, 1],
            [1, 0]])
    """
    check_tensor(input, "nonzero")
    if mode.now.watch is not None:
        mode.now.watch.check_read(input, "nonzero_numpy" if as_tuple else "nonzero")
    if as_bool(as_tuple, "nonzero", "as_tuple", 2):
        if out is not None:
            raise RuntimeError(
                "nonzero does not support the out kwarg when as_tuple is True"
            )
        return argwhere(input if input.dim() else input.reshape(1)).unbind(1)
    if out is not None:
        return handed_over("nonzero", _rows(input._data), out, _NONZERO_DTYPE)
    return made(_rows(input._data))


def _rows(data: Any) -> Any:
    xp = backend_of(data).xp
    found = xp.stack(data.nonzero()).T if data.ndim else xp.empty((int(data != 0), 0))
    if not len(found):
        return empty_in_order(xp, found.shape, "int64", (0, 1))
    return found.astype("int64", copy=False)


@method(function=True)
def argwhere(input: Tensor) -> Tensor:
    """Return where the elements are not zero, one row of positions per element."""
    return made(_rows(check_tensor(input, "argwhere")._data))
