"""Make one batch of a list of samples: tensors stacked, containers gone into."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...._dtypes import float64
from ...._tensor.tensor import Tensor
from ....ops.creation.from_data import as_tensor, tensor
from ....ops.memory.memory_format import strided
from ....ops.rearrange.cat import stack
from . import worker

CollateMap: TypeAlias = dict[type | tuple[type, ...], Callable[..., Any]]

# Kinds of NumPy's dtypes that no tensor holds: strings, bytes, objects.
np_str_obj_array_pattern = re.compile(r"[SaUO]")

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, "
    "dicts or lists; found {}"
)
_UNSUPPORTED = (
    "Batches of {} tensors are not currently supported by the default collate_fn; "
    "please provide a custom collate_fn to handle them appropriately."
)


# ---- containers ----


def mapping_like(source: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """Return ``values`` in a mapping of the source's type, or else in a dict."""
    try:
        if isinstance(source, MutableMapping):
            # A copy keeps what the type has besides its items.
            twin: Any = copy.copy(source)
            twin.update(values)
            return twin
        return type(source)(values)  # type: ignore[call-arg] - as dict is made
    except TypeError:
        return values


def sequence_like(source: Sequence[Any], values: list[Any]) -> Any:
    """Return ``values`` in a sequence of the source's type, or else in a list."""
    try:
        if isinstance(source, MutableSequence):
            # A copy keeps what the type has besides its items.
            twin: Any = copy.copy(source)
            for position, value in enumerate(values):
                twin[position] = value
            return twin
        return type(source)(values)  # type: ignore[call-arg] - as list is made
    except TypeError:
        return values  # such as range


def is_named_tuple(value: Any) -> bool:
    """Tell whether a tuple's type has named fields."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


# ---- one sample ----


def default_convert(data: Any) -> Any:
    """Return a sample with its NumPy arrays and numbers as tensors.

    Containers are gone into; a tuple comes back as a list. What is neither stays.

    >>> import numpy
    >>> default_convert({"x": numpy.array([1, 2]), "y": "left alone"})
    {'x': tensor([1, 2]), 'y': 'left alone'}
    """
    if isinstance(data, Tensor):
        return data
    kind = type(data)
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if isinstance(data, np.ndarray) and _holds_objects(data):
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return mapping_like(data, {key: default_convert(data[key]) for key in data})
    if is_named_tuple(data):
        return kind(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(each) for each in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return sequence_like(data, [default_convert(each) for each in data])
    return data


def _holds_objects(array: Any) -> bool:
    return np_str_obj_array_pattern.search(array.dtype.str) is not None


# ---- many samples ----


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make one batch of samples of one structure.

    ``collate_fn_map`` says which function makes a batch of elements of a type; it is
    called as ``function(batch, collate_fn_map=collate_fn_map)``. The first type in it
    that an element is an instance of counts, if its own type is not there. Containers
    that are not in the map are gone into.

    Raises TypeError for what is neither, RuntimeError for sequences of unequal length.

    >>> from gradtape.utils.data._utils.collate import collate
    >>> collate([(1, "a"), (2, "b")], collate_fn_map={
    ...     int: lambda batch, *, collate_fn_map: sum(batch),
    ...     str: lambda batch, *, collate_fn_map: "".join(batch),
    ... })
    [3, 'ab']
    """
    first = batch[0]
    function = _function_for(first, collate_fn_map)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def together(samples: Sequence[Any]) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        values = {key: together([each[key] for each in batch]) for key in first}
        return mapping_like(first, values)
    if is_named_tuple(first):
        return type(first)(*map(together, zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        values = [together(samples) for samples in zip(*batch, strict=True)]
        return values if isinstance(first, tuple) else sequence_like(first, values)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def _function_for(
    element: Any, functions: CollateMap | None
) -> Callable[..., Any] | None:
    if functions is None:
        return None
    found = functions.get(type(element))
    if found is not None:
        return found
    for kind, function in functions.items():
        if isinstance(element, kind):
            return function
    return None


def collate_tensor_fn(
    batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """Stack tensors along a new first dimension.

    In a worker the memory is marked as shared, as it is on its way to another process.
    """
    first = batch[0]
    if first.is_nested:
        raise RuntimeError(_UNSUPPORTED.format("nested"))
    if first.layout is not strided:
        raise RuntimeError(_UNSUPPORTED.format("sparse"))
    together = stack(list(batch), 0)
    if worker.get_worker_info() is not None:
        together.share_memory_()
    return together


def collate_numpy_array_fn(
    batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """Stack NumPy arrays to a tensor; TypeError where they hold strings or objects."""
    if _holds_objects(batch[0]):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(
    batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """Make a tensor of NumPy's numbers."""
    return as_tensor(batch)


def collate_float_fn(
    batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """Make a tensor of doubles of Python's floats."""
    return tensor(batch, dtype=float64)


def collate_int_fn(
    batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """Make a tensor of ints, or of bools."""
    return tensor(batch)


def collate_str_fn(
    batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """Return strings as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""What :func:`default_collate` does by type; programs add their own types."""


def default_collate(batch: Sequence[Any]) -> Any:
    """Make one batch of samples: numbers and arrays become tensors with one more dim.

    Tensors are stacked along a new first dimension, dicts and sequences keep their
    structure (a tuple becomes a list), strings stay side by side.

    >>> default_collate([{"x": 1.5, "y": "a"}, {"x": 2.5, "y": "b"}])
    {'x': tensor([1.5000, 2.5000], dtype=torch.float64), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
