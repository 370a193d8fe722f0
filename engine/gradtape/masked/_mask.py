"""What every masked operation begins with: its mask, its dims and what to fill in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dtypes import bfloat16, bool_, float16, float32, iinfo, int64, uint8
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ..ops.creation.from_data import tensor
from ..ops.memory.memory_format import sparse_coo


def identity(name: str, dtype: DType, ord: float = 2.0) -> float:
    """Return what a reduction over elements of a dtype ignores.

    ``ord`` matters to "norm" alone. Raises NotImplementedError where there is no such
    value, and TypeError for complex numbers, which have no order.
    """
    is_integer = dtype.is_signed or dtype is uint8
    if name in ("sum", "cumsum", "prod", "cumprod"):
        return int(name.endswith("prod"))
    if name == "norm":
        return inf if ord == -inf else 0
    if name == "median":
        return nan
    if name in ("amax", "argmax", "logaddexp", "logsumexp"):
        if dtype.is_floating_point or (dtype.is_complex and name == "logsumexp"):
            return -inf
        if is_integer:
            return iinfo(dtype).min
    elif name in ("amin", "argmin"):
        if dtype.is_floating_point:
            return inf
        if is_integer:
            return iinfo(dtype).max
    raise NotImplementedError(f"identity of {name} on {dtype} input")


def is_sparse(input: Tensor) -> bool:
    """Tell whether a tensor has coordinates in place of an array."""
    return input.layout is sparse_coo


def _keys(indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return one number a column of coordinates, in the order of the coordinates."""
    found = indices.new_zeros(indices.size(1))
    for each, size in zip(indices, shape, strict=False):
        found = found * size + each
    return found


def where_sparse(mask: Tensor, input: Tensor, fill: Tensor) -> Tensor:
    """Return what a mask leaves in of a COO tensor, both with the same sparse dims.

    The result has coordinates exactly where the mask has True; an element that the
    input has no coordinates for is 0 there. In dense dims, ``fill`` replaces what is
    masked out.
    """
    input, mask = input.coalesce(), mask.coalesce()
    inside: Any = mask.values()
    rows = inside.flatten(1).any(1) if inside.dim() > 1 else inside
    chosen = rows.nonzero()[:, 0]
    places: Any = mask.indices().index_select(1, chosen)
    sizes = input.shape[: input.sparse_dim()]
    wanted, known = _keys(places, sizes), _keys(input.indices(), sizes)
    values: Any = input.values()
    if not known.numel():
        found = values.new_zeros((wanted.size(0), *values.shape[1:]))
    else:
        at = FUNCTIONS["searchsorted"](known, wanted).clamp(max=known.numel() - 1)
        there = (known[at] == wanted).reshape(-1, *(1,) * (values.dim() - 1))
        found = values.index_select(0, at)
        if mask.dense_dim():
            found = FUNCTIONS["where"](inside.index_select(0, chosen), found, fill)
        found = FUNCTIONS["where"](there, found, values.new_zeros(()))
    result = FUNCTIONS["sparse_coo_tensor"](places, found, input.shape)
    return result._coalesced_(True)


def reduced(
    name: str, inside: Tensor, dims: tuple[int, ...], keepdim: bool, kind: DType
) -> Tensor:
    """Reduce the elements with coordinates; ``name`` is sum, prod, amax or amin.

    The result is a COO tensor too.
    """
    count = inside.sparse_dim()
    dims = tuple(d for d in dims if d < inside.dim())  # a number has none
    values: Any = inside._values()
    values = values.to(kind)
    dense = tuple(d + 1 - count for d in dims if d >= count)
    for each in reversed(dense):
        values = _reduce(name, values, each, keepdim, kind)
    gone = [d for d in dims if d < count]
    if len(gone) == count:
        if values.size(0) or name in ("sum", "prod"):
            values = _reduce(name, values, 0, False, kind)
        else:
            values = values.new_full(values.shape[1:], identity(name, kind))
        shape = (*(1,) * count, *values.shape) if keepdim else values.shape
        return values.reshape(shape).to_sparse()
    places: Any = inside._indices()
    if keepdim:
        places = places.index_fill(0, places.new_tensor(gone, dtype=int64), 0)
    else:
        places = places[[d for d in range(count) if d not in gone]]
    if places.numel():
        places, values = _gathered(name, places, values)
    shape = [1 if d in dims else n for d, n in enumerate(inside.shape)]
    if not keepdim:
        shape = [n for d, n in enumerate(inside.shape) if d not in dims]
    return FUNCTIONS["sparse_coo_tensor"](places, values, shape, dtype=kind)


def _gathered(name: str, places: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Reduce the values that share their coordinates."""
    places, groups = places.unique(return_inverse=True, dim=1)
    kind = values.dtype
    wide = values.to(float32) if kind in (bfloat16, float16) else values
    shape = (places.size(1), *wide.shape[1:])
    groups = groups.reshape(-1, *(1,) * (wide.dim() - 1)).expand(wide.shape)
    found = wide.new_zeros(shape).scatter_reduce(
        0, groups, wide, name, include_self=False
    )
    return places, found.to(kind)


def _reduce(name: str, values: Tensor, dim: int, keepdim: bool, kind: DType) -> Any:
    if name in ("sum", "prod"):
        return FUNCTIONS[name](values, dim, keepdim, dtype=kind)
    return FUNCTIONS[name](values, dim, keepdim)


Dims = int | Sequence[int] | None


def mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """Return a mask as bools, of the input's shape and layout.

    Raises IndexError for a mask of more dimensions than the input.
    """
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality "
                "higher than of the input)"
            )
        mask = (mask.to_dense() if is_sparse(mask) else mask).expand(input.shape)
    if is_sparse(mask) and not is_sparse(input):
        mask = mask.to_dense()
    elif is_sparse(input):
        mask = mask if is_sparse(mask) else mask.to_sparse(input.sparse_dim())
        mask = mask.coalesce()
    return mask.to(bool_)


def filled(input: Tensor, mask: Tensor | None, name: str, ord: float = 2.0) -> Tensor:
    """Return the input with what changes nothing in a reduction where it is masked out.

    ``ord`` matters to "norm" alone. Raises NotImplementedError where there is no such
    value.
    """
    if mask is None:
        return input
    value = identity(name, input.dtype, ord)
    other = FUNCTIONS["full"]((), value, dtype=input.dtype, device=input.device)
    return where(mask_of(input, mask), input, other)


def where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """Return what a mask leaves in of an input of its layout.

    Elsewhere there is ``fill_value``, or in a COO tensor no coordinates.
    """
    choose = where_sparse if is_sparse(mask) else FUNCTIONS["where"]
    return choose(mask, input, fill_value)


def dims_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the dims to reduce, in order, counted from the front.

    None and the empty tuple are all of them. Raises RuntimeError for a dim given
    twice, IndexError for one that is not there.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    bound = max(ndim, 1)
    found: list[int] = []
    for each in (dim,) if isinstance(dim, int) else dim:
        if each in found:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
        if not -bound <= each < bound:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, "
                f"{bound - 1}], but got {each})"
            )
        found.append(each % bound)
    return tuple(sorted(found))


def one_dim(dim: int, ndim: int) -> int:
    """Return a dim counted from the front; see :func:`dims_of`."""
    return dims_of(dim, ndim)[0]


def counts(input: Tensor, mask: Tensor | None, dim: Any, keepdim: bool) -> Tensor:
    """Return how many elements of each reduced row are there."""
    if mask is not None:
        return mask.sum(dim, keepdim)
    whole = FUNCTIONS["ones_like"](input, dtype=bool_)
    return whole.sum(dims_of(dim, input.dim()), keepdim)


def is_inexact(dtype: DType) -> bool:
    """Tell whether a dtype holds fractions."""
    return dtype.is_floating_point or dtype.is_complex


def fractional(dtype: DType) -> DType:
    """Return a dtype that holds fractions: float32 in place of integers."""
    return dtype if is_inexact(dtype) else float32


# ---- what tests and libraries take from torch.masked beside the operations ----

_REDUCTIONS = frozenset(
    (
        *("amax", "amin", "argmax", "argmin", "logsumexp", "mean", "median", "norm"),
        *("prod", "std", "sum", "var"),
    )
)
_ALONG = frozenset(
    ("cumprod", "cumsum", "log_softmax", "normalize", "softmax", "softmin")
)


def input_mask(input: Tensor, *_: Any, **options: Any) -> Tensor:
    """Return the option ``mask`` as bools, of the input's shape and layout.

    Raises ValueError where it is missing.
    """
    if options.get("mask") is None:
        raise ValueError("_input_mask requires explicit mask")
    return mask_of(input, options["mask"])


def output_mask(
    op: Callable[..., Any], input: Tensor, *args: Any, **options: Any
) -> Tensor:
    """Return where a masked operation has a result: something was left in.

    Raises ValueError for what is no masked operation.
    """
    if not callable(op):
        raise ValueError(
            f"_output_mask expected masked operation (got {type(op).__name__} object)"
        )
    name = getattr(op, "__name__", "")
    if name in _ALONG:
        return input_mask(input, **options)
    if name not in _REDUCTIONS:
        raise ValueError(
            "_output_mask expected masked operation (got callable "
            f"{op.__module__}.{name})"
        )
    rest = args[1:] if name == "norm" else args
    found = input_mask(input, **options)
    dim = rest[0] if rest else options.get("dim")
    for each in reversed(dims_of(dim, input.dim())):
        found = found.any(each, bool(options.get("keepdim", False)))
    return found


def reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """Return what a reduction ignores, as a 0-d tensor; None where that depends."""
    name = op_name.rpartition(".")[2]
    if name in ("mean", "std", "var"):
        return None
    value = identity(name, input.dtype, *args[:1])
    as_float = name == "median" and not input.is_floating_point()
    return tensor(
        value, dtype=float32 if as_float else input.dtype, device=input.device
    )


def combine_input_and_mask(
    op: Callable[..., Any], input: Tensor, mask: Tensor | None, *args: Any
) -> Tensor:
    """Return the input with what ``op`` ignores where it is masked out.

    Raises ValueError where ``op`` is no operation.
    """
    if mask is not None and not callable(op):
        raise ValueError(
            "_combine_input_and_mask expected masked operation (got "
            f"{type(op).__name__} object)"
        )
    return filled(input, mask, op.__name__, *args[:1])
