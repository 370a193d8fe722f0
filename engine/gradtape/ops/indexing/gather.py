"""Reading and writing element by element along a dimension: gather and scatter."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, op
from ..._dispatch.inplace import inplace
from .._support.arguments import wrap_dim
from .._support.new_tensor import row_major
from .._support.operands import hidden_op
from .._support.out_argument import SAME_DTYPE
from .._support.reduce_at_index import at_once

Sizes = tuple[int, ...]


# ---- checks ----


def _check_index(xp: Any, name: str, index: Any, length: int, dim: int) -> None:
    if index.dtype not in (xp.int64, xp.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    wrong = (index < 0) | (index >= length)
    if wrong.any():
        raise RuntimeError(
            f"index {int(index[wrong][0])} is out of bounds for dimension {dim} with "
            f"size {length}"
        )


def _box(
    xp: Any, name: str, self: Any, dim: int, index: Any, src: Any = None
) -> tuple[int, Any]:
    """Return the dimension and the part of ``self`` that ``index`` lies over.

    Sizes are checked before the places that ``index`` names.
    """
    d = wrap_dim(dim, self.ndim)
    if max(index.ndim, 1) != max(self.ndim, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            + ("input tensor" if name == "gather" else "self tensor")
        )
    for i, (n, m) in enumerate(zip(index.shape, self.shape, strict=False)):
        if i != d and n > m:
            raise RuntimeError(_size_error(name, i, index.shape, self.shape, d, src))
    if src is not None:
        _check_source(index, src, d, self)
    _check_index(xp, name, index, self.shape[d] if self.ndim else 1, d)
    box = tuple(
        slice(None) if i == d else slice(0, n) for i, n in enumerate(index.shape)
    )
    return d, box


def _size_error(
    name: str, at: int, index: Sizes, mine: Sizes, dim: int, src: Any
) -> str:
    if name == "gather":
        return (
            f"Size does not match at dimension {at} expected index {list(index)} to be "
            f"no larger than self {list(mine)} apart from dimension {dim}"
        )
    return (
        f"Expected index {list(index)} to be no larger than self {list(mine)} apart "
        f"from dimension {dim}"
        + (
            ""
            if src is None
            else f" and to be no larger size than src {list(src.shape)}"
        )
    )


def _check_source(index: Any, src: Any, dim: int, self: Any) -> None:
    if max(src.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as src tensor"
        )
    if any(n > m for n, m in zip(index.shape, src.shape, strict=False)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self "
            f"{list(self.shape)} apart from dimension {dim} and to be no larger size "
            f"than src {list(src.shape)}"
        )


def _places(xp: Any, index: Any, d: int) -> tuple[Any, ...]:
    """Return an index array per dimension: ``index`` for one, counting elsewhere."""
    places: list[Any] = []
    for i, n in enumerate(index.shape):
        shape = [1] * index.ndim
        shape[i] = n
        places.append(index if i == d else xp.arange(n).reshape(shape))
    return tuple(places)


def same_dtype(name: str, self: Any, src: Any) -> None:
    """Refuse a source of another dtype, in PyTorch's words."""
    if self.dtype != src.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")


def check_places(
    xp: Any, self: Any, dim: int, index: Any, src: Any
) -> tuple[tuple[Any, ...], Any]:
    """Return where a scatter writes, and the part of ``src`` it takes."""
    d, _ = _box(xp, "scatter", self, dim, index, src)
    index = index.reshape(index.shape or (1,))
    part = src.reshape(src.shape or (1,))[tuple(slice(0, n) for n in index.shape)]
    return _places(xp, index, d), part


# ---- gather and scatter ----


@op(
    {
        "self": lambda F, grad, self, dim, index: F.scatter_add(
            F._new_zeros(grad, self.shape), dim, index, grad
        )
    },
    out=True,
    out_rule=SAME_DTYPE,
)
def gather(
    xp: Any, self: Array, dim: int, index: Array, *, sparse_grad: bool = False
) -> Any:
    """Take, at every place of ``index``, the element that it names along ``dim``.

    >>> import gradtape as torch
    >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    if not index.size:
        return xp.empty(index.shape, self.dtype)
    d, box = _box(xp, "gather", self, dim, index)
    if not self.ndim:
        return xp.full(index.shape, self)
    if not index.ndim:
        return self[int(index)].copy()
    return row_major(xp, xp.take_along_axis(self[box], index, d))


def _scattered(xp: Any, name: str, self: Any, dim: int, index: Any, src: Any) -> Any:
    result = self.copy()
    if not index.size:
        return result
    d, _ = _box(xp, name, self, dim, index, src if hasattr(src, "shape") else None)
    if not self.ndim:
        result = xp.asarray(result)
        result[...] = src.reshape(-1)[-1] if hasattr(src, "reshape") else src
        return result
    if not index.ndim:
        index = index.reshape(1)
    if hasattr(src, "shape"):
        src = src.reshape(src.shape or (1,))[tuple(slice(0, n) for n in index.shape)]
    result[_places(xp, index, d)] = src
    return result


@hidden_op(
    {
        "self": lambda F, grad, dim, index: F._scatter_value(grad, dim, index, 0),
        "src": lambda F, grad, dim, index: F.gather(grad, dim, index),
    },
    name="scatter",
    key="_scatter_src",
)
def _scatter_src(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Any:
    """Write the elements of ``src`` at the places ``index`` names along ``dim``."""
    same_dtype("scatter", self, src)
    return _scattered(xp, "scatter", self, dim, index, src)


@hidden_op(
    {"self": lambda F, grad, dim, index: F._scatter_value(grad, dim, index, 0)},
    name="scatter",
    key="_scatter_value",
    node="ScatterBackward1",
)
def _scatter_value(xp: Any, self: Array, dim: int, index: Array, value: Any) -> Any:
    """Write one number at the places ``index`` names along ``dim``."""
    return _scattered(xp, "scatter", self, dim, index, value)


@op(
    {
        "self": lambda F, grad: grad,
        "src": lambda F, grad, dim, index: F.gather(grad, dim, index),
    },
    out=True,
    out_rule=SAME_DTYPE,
)
def scatter_add(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Any:
    """Add the elements of ``src`` at the places ``index`` names along ``dim``."""
    same_dtype("scatter", self, src)
    result = self.copy()
    if not index.size:
        return result
    if not self.ndim:
        return xp.asarray(result + src.reshape(-1).sum()).astype(self.dtype)
    places, part = check_places(xp, self, dim, index, src)
    at_once(xp.add, result, places, part)
    return result


inplace("scatter_add")
