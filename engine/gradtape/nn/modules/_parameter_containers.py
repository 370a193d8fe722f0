"""Containers of parameters: in a list, by name. Other values are kept as they are."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.tensor.queries import typename
from ..parameter import Parameter
from ._container import named_pairs
from ._module import Module


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _line(key: Any, value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.size())
    where = f" ({value.device})" if value.is_cuda else ""
    return f"  ({key}): {what} containing: [{kind} of size {size}{where}]"


class ParameterList(Module):
    """A list of parameters; tensors become parameters.

    >>> import gradtape as torch
    >>> torch.nn.ParameterList([torch.ones(2, 3)])
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, index: Any) -> str:
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"index {at} is out of range")
        return str(at % len(self))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            places = range(*index.indices(len(self)))
            return type(self)(self[i] for i in places)
        return getattr(self, self._name_at(index))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, self._name_at(index), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> ParameterList:
        return self.extend(parameters)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return a line per value."""
        lines = [_line(i, p, str(getattr(p, "dtype", ""))) for i, p in enumerate(self)]
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: a list of parameters computes nothing."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by name, in the order they were added; tensors become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _checked_key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, _checked_key(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, _checked_key(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dict of the same parameters."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, setting it first where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Drop all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out and return it."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last pair out and return it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or ``default``."""
        return self[key] if key in self else default  # noqa: SIM401 - this is get

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a dict with one value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return (name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from (name, value) pairs."""
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            parameters = sorted(parameters.items())
        owner = (
            "ParametersDict"
            if not isinstance(parameters, Iterable)
            else ("ParameterDict")
        )
        for key, value in named_pairs(parameters, owner):
            self[key] = value

    def extra_repr(self) -> str:
        """Return a line per value."""
        return "\n".join(_line(k, p, typename(p)) for k, p in self.items())

    def __call__(self, input: Any) -> Any:
        """Raise RuntimeError: a dict of parameters computes nothing."""
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        found = self.copy()
        found.update(other)
        return found

    def __ror__(self, other: Any) -> Any:
        found = other.copy()
        found.update(self)
        return found

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self


def _checked_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a "
            f"string (type is '{type(key).__name__}'). Open an issue on github if "
            "you need non-string keys."
        )
    return key
