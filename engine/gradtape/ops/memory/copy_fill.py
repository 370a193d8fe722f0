"""Writing a whole tensor in place: copy_, fill_, zero_, and ``x[…] = y``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._backend import backend_of
from ..._common.messages import BROADCAST_OUTPUT, legacy_type_name, shape_text
from ..._dispatch.declare import OPS, Array, method, public
from ..._dispatch.operands import broadcast_error
from ..._dispatch.view_history import check_inplace
from ..._dtypes import DTYPE_OF
from ..._modes.grad_mode import mode, no_grad
from ..._sparse.array import SparseArray
from ..._tensor.memory import keeps_values_elsewhere
from ..._tensor.overlap import (
    check_overlap,
    check_partial_overlap,
    meets_cells_twice,
    warn_shared,
)
from ..._tensor.tensor import Tensor
from ..._tensor.tensor import wrap as wrap_array
from .._support.arguments import check_tensor
from .._support.inplace_write import written
from .._support.operands import hidden_op
from .._support.scalar_range import in_range
from .conversion import warn_discards

# ---- the derivatives of writes: what was there before gets no gradient ----


@hidden_op(
    {"self": lambda F, grad: F.zeros_like(grad), "src": lambda F, grad: grad},
    name="copy",
    node="CopyBackwards",
    recorded="cast",
)
def _copy(xp: Any, self: Array, src: Array) -> Any:
    """Return ``src`` in the shape of the first argument."""
    return xp.broadcast_to(src, self.shape).astype(self.dtype)


@hidden_op(
    {"self": lambda F, grad: F.zeros_like(grad)},
    name="fill",
    key="_fill_number",
    node="FillBackward2",
)
def _fill(xp: Any, self: Array, value: Any) -> Any:
    """Return a tensor of the argument's shape, filled with a number."""
    return xp.full_like(self, value)


@hidden_op(
    {"self": lambda F, grad: F.zeros_like(grad), "value": lambda F, grad: F.sum(grad)},
    name="fill",
    key="_fill_tensor",
    node="FillBackward3",
)
def _fill_tensor(xp: Any, self: Array, value: Array) -> Any:
    """Return a tensor of the argument's shape, filled with a 0-d tensor."""
    return xp.full_like(self, value)


@hidden_op({"self": lambda F, grad: F.zeros_like(grad)})
def zero(xp: Any, self: Array) -> Any:
    """Return zeros of the argument's shape."""
    return xp.zeros_like(self)


# ---- writers ----


@method("copy_")
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Copy the values of ``src`` here, broadcast and cast to this tensor.

    >>> import gradtape as torch
    >>> torch.zeros(2, 2).copy_(torch.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    if isinstance(src, int | float | complex):
        src = wrap_array(backend_of(self._data).xp.asarray(src))
    check_tensor(src, "copy_", "other")
    check_inplace(self, mode.grad and (self.requires_grad or src.requires_grad))
    if src is not self:
        check_overlap(self)
        check_partial_overlap(OPS["copy"], self, (self, src))
    if SparseArray in (type(self._data), type(src._data)):
        _refuse_other_layout(self, src)
        self._data.check_room(src._data.sparse_dim, src._data.shape)
    else:
        check_broadcast(self, src)
    away = keeps_values_elsewhere(self) or keeps_values_elsewhere(src)
    values = None if away else value_for(self, src)
    if src.dim() and meets_cells_twice(self._data):
        warn_shared()

    def store(data: Any) -> None:
        data[...] = values

    return written("copy_", "copy", (self, src), (), store)


def check_broadcast(self: Tensor, src: Tensor) -> None:
    """Raise PyTorch's error where ``src`` cannot be broadcast to this tensor."""
    mine, theirs = self._data.shape, src._data.shape
    if mine == theirs:
        return
    for m, n in zip(reversed(mine), reversed(theirs), strict=False):
        if m != n and 1 not in (m, n):
            raise broadcast_error(mine, theirs)
    lead = len(theirs) - len(mine)
    if lead > 0 or any(
        n != 1 and m == 1 for m, n in zip(mine[::-1], theirs[::-1], strict=False)
    ):
        whole = [*theirs[: max(lead, 0)], *mine[: max(-lead, 0)]]
        pairs = zip(mine[max(-lead, 0) :], theirs[max(lead, 0) :], strict=True)
        whole += [n if m == 1 else m for m, n in pairs]
        raise RuntimeError(
            BROADCAST_OUTPUT.format(
                output=shape_text(mine), broadcast=shape_text(tuple(whole))
            )
        )


def _refuse_other_layout(self: Tensor, src: Tensor) -> None:
    if self.is_sparse is not src.is_sparse:
        mine, theirs = (legacy_type_name(t.dtype, t.is_sparse) for t in (self, src))
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self "
            f"type = {mine} and src type = {theirs}"
        )


def value_for(self: Tensor, src: Tensor) -> Any:
    """Return the array of ``src`` on this tensor's device and in its dtype."""
    values = src._data
    mine, theirs = backend_of(self._data), backend_of(values)
    if mine is not theirs:
        _refuse_other_layout(self, src)
        values = mine.xp.asarray(theirs.to_host(values))
    if values.dtype == self._data.dtype:
        return values
    if values.dtype.kind == "c" and self._data.dtype.kind not in "cb":
        warn_discards()
        values = values.real
    return mode.run(values.astype, self._data.dtype)


@method("fill_")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to one number, or to the value of a 0-d tensor."""
    if isinstance(value, Tensor):
        if value.dim():
            check_inplace(
                self, mode.grad and (self.requires_grad or value.requires_grad)
            )
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.dim()} dimensions."
            )
        number = value_for(self, value)
        args, options, declared = (self, value), (), "_fill_tensor"
    else:
        number = in_range(value, DTYPE_OF[self._data.dtype])
        args, options, declared = (self,), (value,), "_fill_number"

    def store(data: Any) -> None:
        data[...] = number

    return written("fill_", declared, args, options, store)


@method("zero_")
def zero_(self: Tensor) -> Tensor:
    """Set every element to zero."""
    return written("zero_", "zero", (self,), (), _store_zero)


def _store_zero(data: Any) -> None:
    data[...] = 0


@method()
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the diagonal to one number; ``wrap`` goes on below in a tall matrix."""
    shape = self._data.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    self.as_strided((min(shape),), (step,)).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        _go_on_below(self, fill_value)
    return self


def _go_on_below(self: Tensor, value: Any) -> None:
    """Set the diagonals of a tall matrix that begin every ``columns + 1`` rows."""
    rows, columns = self._data.shape
    down, step = self.stride(0), sum(self.stride())
    whole, rest = divmod(rows, columns + 1)
    if whole > 1:
        start = self.storage_offset() + down * (columns + 1)
        size, stride = (whole - 1, columns), (down * (columns + 1), step)
        self.as_strided(size, stride, start).fill_(value)
    if rest and whole:
        start = self.storage_offset() + down * (columns + 1) * whole
        self.as_strided((min(rest, columns),), (step,), start).fill_(value)


@method()
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace every element by what a Python function makes of it; slow.

    Raises RuntimeError for a tensor that requires grad, TypeError where the function
    returns no number.
    """
    return _mapped("apply_", (self,), callable)


@method()
def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace every element by what a function makes of it and another's; slow.

    >>> import gradtape as torch
    >>> torch.ones(2).map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b)
    tensor([2., 3.])
    """
    return _mapped("map_", (self, other), callable)


@method()
def map2_(
    self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]
) -> Tensor:
    """Replace every element by what a function makes of it and two others; slow."""
    return _mapped("map2_", (self, x, y), callable)


def _mapped(
    name: str, tensors: tuple[Tensor, ...], callable: Callable[..., Any]
) -> Tensor:
    self = tensors[0]
    words = ("other",) if len(tensors) == 2 else ("x", "y")
    for at, (word, tensor) in enumerate(zip(words, tensors[1:], strict=False), 1):
        check_tensor(tensor, name, word, at)
        if tensor.dtype is not self.dtype:
            raise TypeError(
                f"{name}: expected {self.type()} for '{word}' (got {tensor.type()})"
            )
    if any(tensor.requires_grad for tensor in tensors):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use "
            f"var.detach().{name}() instead."
        )
    rows = [tensor.expand_as(self).flatten().tolist() for tensor in tensors]
    values = [callable(*row) for row in zip(*rows, strict=True)]
    for value in values:
        if not isinstance(value, int | float | complex):
            raise TypeError(f"must be real number, not {type(value).__name__}")
    xp = backend_of(self._data).xp
    found = xp.asarray(values).reshape(self._data.shape)
    with no_grad():
        return copy_(self, wrap_array(found))


@public
def fill(input: Tensor, value: Any) -> Tensor:
    """Return a tensor like ``input``, filled with one number."""
    return fill_(input.clone(), value)


for _writer in (fill_, zero_):
    public(_writer)
