"""Reading arguments as PyTorch's parser does: sizes, dimensions, dtypes, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ..._common.messages import not_bool
from ..._common.type_name import type_name
from ..._dtypes import dtype as DType
from ..._dtypes import get_default_dtype, parse_dtype
from ..._tensor.tensor import Tensor

Sizes = tuple[int, ...]

_INT = frozenset((int,))


def is_integer(value: object) -> bool:
    """Tell whether PyTorch takes ``value`` where it wants an int."""
    if isinstance(value, Tensor):
        return value.numel() == 1 and value._data.dtype.kind in "iub"
    if isinstance(value, np.ndarray):
        return value.size == 1 and value.dtype.kind in "iu"
    return hasattr(value, "__index__") and not isinstance(value, bool)


def as_integer(value: Any, function: str, name: str, position: int) -> int:
    """Return an int argument, or raise PyTorch's TypeError."""
    if type(value) is int:
        return value
    if not is_integer(value):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be int, "
            f"not {type_name(value)}"
        )
    return int(value.item()) if isinstance(value, Tensor) else index(value)


def as_bool(value: Any, function: str, name: str, position: int) -> bool:
    """Return a switch, or raise PyTorch's TypeError for what is not a bool."""
    if value is True or value is False:
        return value
    raise not_bool(value, function, name, position)


def float_argument(value: Any, function: str, name: str, position: int) -> float:
    """Return a number argument, which may come as a tensor without dimensions.

    Raises PyTorch's TypeError for anything else, a tensor that requires grad included.
    """
    if type(value) is float:
        return value
    if isinstance(value, Tensor) and not value.dim() and not value.requires_grad:
        value = value.item()
        if isinstance(value, complex):
            raise RuntimeError(
                "value cannot be converted to type double without overflow"
            )
    if not isinstance(value, int | float | np.floating | np.integer):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be float, not "
            f"{type_name(value)}"
        )
    return float(value)


def sizes(given: Any, function: str, name: str = "size", position: int = 1) -> Sizes:
    """Return a size argument, given as a sequence of ints, as a tuple.

    Raises TypeError, in PyTorch's words, for anything else.
    """
    if type(given) is tuple and _INT.issuperset(map(type, given)):
        return given
    if isinstance(given, Tensor) and is_integer(given):
        return (int(given),)
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of "
            f"ints, not {type_name(given)}"
        )
    for at, item in enumerate(given):
        if not is_integer(item):
            if at == 0:
                raise TypeError(
                    f"{function}(): argument '{name}' (position {position}) must be "
                    f"tuple of ints, but found element of type {_c_type(item)} at pos 0"
                )
            raise TypeError(
                f"{function}(): argument '{name}' failed to unpack the object at pos "
                f'{at + 1} with error "type must be tuple of ints,but got '
                f'{type_name(item)}"'
            )
    return tuple(int(item) for item in given)


def _c_type(value: object) -> str:
    """Return a type's name as C sees it, which NumPy's types bear in full."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def spread(
    given: tuple[Any, ...],
    function: str,
    name: str = "size",
    named: dict[str, Any] | None = None,
) -> Sizes:
    """Return sizes given one by one, as one sequence, or by keyword (``named``)."""
    if named:
        if given or [*named] != [name]:
            word = next(iter(named))
            raise TypeError(f"{function}() got an unexpected keyword argument '{word}'")
        return sizes(named[name], function, name)
    if not given:
        return ()
    first = given[0]
    if is_integer(first):
        return sizes(given, function, name)
    if len(given) > 1 and isinstance(first, list | tuple):
        raise TypeError(
            f"{function}() takes 1 positional argument but {len(given)} were given"
        )
    return sizes(first, function, name)


def wrap_dim(dim: Any, ndim: int) -> int:
    """Return a dimension counted from the front.

    Raises IndexError for one that a tensor of ``ndim`` dimensions does not have.
    """
    dim = index(dim)
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-bound}, "
            f"{bound - 1}], but got {dim})"
        )
    return dim % bound


def wrap_dims(dims: Any, ndim: int) -> Sizes:
    """Return several dimensions counted from the front; refuse repeated ones."""
    given = (dims,) if is_integer(dims) else tuple(dims)
    wrapped: list[int] = []
    for dim in given:
        found = wrap_dim(dim, ndim)
        if found in wrapped:
            raise RuntimeError(
                f"dim {found} appears multiple times in the list of dims"
            )
        wrapped.append(found)
    return tuple(wrapped)


def float_dtype(given: Any, function: str) -> DType:
    """Return a ``dtype=`` argument, or the default type where it is None."""
    return get_default_dtype() if given is None else parse_dtype(given, function)


def check_tensor(value: object, function: str, name: str = "input", at: int = 1) -> Any:
    """Return ``value`` if it is a tensor; raise PyTorch's TypeError otherwise."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}(): argument '{name}' (position {at}) must be Tensor, not "
            f"{type_name(value)}"
        )
    return value


def check_tensors(function: str, **given: object) -> None:
    """Raise PyTorch's TypeError unless the first arguments are tensors."""
    for at, (name, value) in enumerate(given.items(), 1):
        check_tensor(value, function, name, at)


def tensor_list(given: Any, function: str, name: str = "tensors") -> list[Tensor]:
    """Return a sequence of tensors as a list, or raise PyTorch's TypeError."""
    if not isinstance(given, Sequence):
        raise TypeError(
            f"{function}(): argument '{name}' (position 1) must be tuple of Tensors, "
            f"not {type_name(given)}"
        )
    for at, item in enumerate(given):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {at} in argument 0, but got "
                f"{type_name(item)}"
            )
    return list(given)
