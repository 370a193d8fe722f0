"""Memory formats: the strides that each asks for, and which one a tensor suggests.

``channels_last`` puts the channels of images innermost, ``channels_last_3d`` those of
volumes; sizes stay (batch, channels, …). ``preserve_format`` keeps what a tensor has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..._backend import backend_of
from ..._common.type_name import type_name
from ..._dtypes import dtype as DType
from ..._graph.op import Kernel
from ..._modes.grad_mode import mode
from ..._modes.transforms import active
from ..._sparse.array import SparseArray
from ..memory.memory_format import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from .new_tensor import array_like, row_major
from .view_geometry import contiguous_strides

Sizes = tuple[int, ...]

_RANKS = {channels_last: 4, channels_last_3d: 5}
"""The formats that put channels innermost, and how many dimensions they need."""


_CLONE = (
    "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
    "torch.preserve_format or torch.contiguous_format (got {})"
)
_QUERY = (
    "NYI: querying is_contiguous inside of vmap for memory_format other than "
    "torch.contiguous_format"
)


def checked_format(given: Any, function: str, source: Any = None) -> Any:
    """Return a memory format, or None for none; raise TypeError for anything else.

    Raises RuntimeError where a vmap cannot have it, of a ``source`` that is mapped.
    """
    return None if given is None else required_format(given, function, source)


def required_format(given: Any, function: str, source: Any = None) -> Any:
    """Return a memory format; raise as above, TypeError for None, too."""
    if not isinstance(given, memory_format):
        raise TypeError(
            f"{function}(): argument 'memory_format' must be torch.memory_format, not "
            f"{type_name(given)}"
        )
    watch = mode.now.watch
    if watch is None or given is contiguous_format or source not in watch.mapped:
        return given
    if function != "is_contiguous" or watch.depth == active.depth:
        _check_for_batch(given, function, source.dim() + 1)
    return given


def _check_for_batch(given: memory_format, function: str, ndim: int) -> None:
    """Refuse what PyTorch cannot ask of the tensor that all examples are in."""
    if function in ("contiguous", "is_contiguous"):
        raise RuntimeError(_QUERY)
    rank = _RANKS.get(given)
    if function == "clone" and rank is not None:
        name = "ChannelsLast" if given is channels_last else "ChannelsLast3d"
        raise RuntimeError(_CLONE.format(name))
    if rank not in (None, ndim):
        raise _rank_refused(given)


def format_strides(size: Sizes, given: memory_format) -> Sizes:
    """Return the strides of a new tensor in a format.

    Raises RuntimeError where the format is for tensors of another rank.
    """
    rank = _RANKS.get(given)
    if rank is None:
        return contiguous_strides(size)
    if len(size) != rank:
        raise _rank_refused(given)
    moved = contiguous_strides((size[0], *size[2:], size[1]))
    return (moved[0], moved[-1], *moved[1:-1])


def _rank_refused(given: memory_format) -> RuntimeError:
    name = repr(given).removeprefix("torch.")
    return RuntimeError(f"required rank {_RANKS[given]} tensor to use {name} format")


def lies_in(size: Sizes, strides: Sizes, given: memory_format) -> bool:
    """Tell whether strides are those of a format; sizes of 1 have no say."""
    rank = _RANKS.get(given)
    if rank is None or len(size) != rank:
        return False
    expected = 1
    for d in (1, *range(rank - 1, 1, -1), 0):
        if size[d] != 1:
            if strides[d] != expected:
                return False
            expected *= size[d]
    return True


def suggested(size: Sizes, strides: Sizes) -> memory_format:
    """Return the format that new tensors after this one take.

    Channels innermost where the strides grow from the channels over the other
    dimensions, gaps allowed, to the batch; contiguous_format where sizes of 1 leave
    both open.
    """
    for given, rank in _RANKS.items():
        if len(size) == rank and strides[1] and 0 not in size and _grow(size, strides):
            return given
    return contiguous_format


def _grow(size: Sizes, strides: Sizes) -> bool:
    least = 0
    for d in (1, *range(len(size) - 1, 1, -1), 0):
        if strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * size[d]
    return True


def suggested_by(array: Any) -> memory_format:
    """Return the format that new arrays after this one take."""
    if array.ndim not in (4, 5):
        return contiguous_format
    return _suggested(array.shape, array.strides, array.itemsize)


@functools.lru_cache(1024)
def _suggested(size: Sizes, strides: Sizes, item: int) -> memory_format:
    return suggested(size, tuple(s // item for s in strides))


def channels_innermost(array: Any) -> bool:
    """Tell whether one volume, without a batch, lies as in channels_last_3d alone."""
    if array.flags.c_contiguous:
        return False
    strides = tuple(s // array.itemsize for s in array.strides)
    return lies_in((1, *array.shape), (0, *strides), channels_last_3d)


def new_in_format(xp: Any, size: Sizes, kind: Any, given: Any = None) -> Any:
    """Return an array without values that lies in a format; None: row-major."""
    if given is None or given is contiguous_format:
        return xp.empty(size, kind)
    if given is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    strides = format_strides(size, given)
    array = xp.empty(size, kind)
    return backend_of(array).strided(array.reshape(-1), size, strides, 0)


def array_in(xp: Any, array: Any, given: Any, dtype: DType | None = None) -> Any:
    """Return an array without values, of the shape of another, in a format.

    None stands for ``preserve_format``.
    """
    if given is None or given is preserve_format:
        return array_like(xp, array, dtype)
    kind = array.dtype if dtype is None else dtype.numpy
    return new_in_format(xp, array.shape, kind, given)


def copy_in(xp: Any, array: Any, given: Any) -> Any:
    """Return a copy of an array in a format; None stands for ``preserve_format``."""
    if type(array) is SparseArray:
        return array.copy()
    if given is contiguous_format:
        return row_major(xp, array.copy())
    keeps = given is None or given is preserve_format
    if keeps and array.flags.c_contiguous and array.size and 1 not in array.shape:
        return array.copy()
    copy = array_in(xp, array, given)
    copy[...] = array
    return copy


def lain_in(array: Any) -> memory_format:
    """Return the format that an array lies in: row-major where that is so.

    Where a size is 1, channels may lie innermost without a stride that suggests it.
    """
    if array.ndim not in (4, 5) or array.flags.c_contiguous:
        return contiguous_format
    inner = channels_last if array.ndim == 4 else channels_last_3d
    strides = tuple(s // array.itemsize for s in array.strides)
    return inner if lies_in(array.shape, strides, inner) else suggested_by(array)


def keeps_format(
    *models: int,
    ranks: Sizes = (4, 5),
    format_of: Callable[[Any], memory_format] = suggested_by,
) -> Callable[[Kernel], Kernel]:
    """Let a kernel return images and volumes in the format that its inputs suggest.

    ``models`` are the places of those inputs among the kernel's arguments after the
    array module; the first that suggests channels innermost decides.
    """

    def wrap(kernel: Kernel) -> Kernel:
        @functools.wraps(kernel)
        def kept(xp: Any, *given: Any, **named: Any) -> Any:
            found = kernel(xp, *given, **named)
            for model in [given[at] for at in models if given[at].ndim in ranks]:
                if (wanted := format_of(model)) is not contiguous_format:
                    if isinstance(found, tuple):
                        return tuple(_moved(xp, each, wanted) for each in found)
                    return _moved(xp, found, wanted)
            return found

        return kept

    return wrap


def common_format(arrays: Sequence[Any]) -> Any:
    """Return the format that all of several arrays suggest, else contiguous_format."""
    first = suggested_by(arrays[0])
    same = all(suggested_by(each) is first for each in arrays)
    return first if same else contiguous_format


def moved_into(xp: Any, array: Any, wanted: Any) -> Any:
    """Return an array in a format; itself where it lies so or has another rank."""
    if wanted is contiguous_format:
        return row_major(xp, array)
    return _moved(xp, array, wanted)


def _moved(xp: Any, array: Any, wanted: memory_format) -> Any:
    if array.ndim != _RANKS[wanted]:
        return array
    strides = format_strides(array.shape, wanted)
    exact = array.strides == tuple(s * array.itemsize for s in strides)
    return array if exact else copy_in(xp, array, wanted)
