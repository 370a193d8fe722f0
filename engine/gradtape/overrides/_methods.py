"""A function twice: as a method it is an object of its own, as in PyTorch.

Whoever answers for functions, see ``overrides``, tells ``torch.Tensor.add`` from
``torch.add`` by identity. Both run the same code.
"""

from __future__ import annotations

from inspect import getattr_static
from types import FunctionType
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor


def twin_of(function: FunctionType) -> Any:
    """Return another function that does the same."""
    twin = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__qualname__ = function.__qualname__
    twin.__module__ = function.__module__
    twin.__doc__ = function.__doc__
    twin.__dict__.update(function.__dict__)
    return twin


def part_methods() -> None:
    """Give Tensor methods of its own where they were functions or other methods."""
    seen = set(FUNCTIONS.values())
    for name in {n: None for kind in Tensor.__mro__[:-1] for n in vars(kind)}:
        found = getattr_static(Tensor, name)
        if type(found) is FunctionType:
            if found in seen:
                twin = twin_of(found)
                twin.__name__ = name
                setattr(Tensor, name, twin)
            seen.add(found)
        elif type(found) is property and found.fget in seen:
            read = twin_of(found.fget)  # pyright: ignore[reportArgumentType]
            setattr(Tensor, name, property(read, found.fset, found.fdel, found.__doc__))


def part_names() -> None:
    """Make functions of several names several functions."""
    for name, function in FUNCTIONS.items():
        own = getattr(function, "__name__", name)
        if type(function) is not FunctionType:
            continue  # a class may have several names
        if own != name and FUNCTIONS.get(own) is function:
            twin = twin_of(function)
            twin.__name__ = name
            FUNCTIONS[name] = twin
