"""Tensors within what a module takes and returns: sequences, mappings, dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..._tensor.tensor import Tensor

__all__ = ["changed", "tensors_in"]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in a value, at any depth."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, list | tuple | set):
            waiting += each
        elif isinstance(each, Mapping):
            waiting += each.values()
        elif dataclasses.is_dataclass(each) and not isinstance(each, type):
            waiting += [getattr(each, f.name) for f in dataclasses.fields(each)]


def changed(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Return a value with ``function`` of each tensor in the tensor's place."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(each, function) for each in value))
    if isinstance(value, list | tuple):
        return type(value)(changed(each, function) for each in value)
    if isinstance(value, dict):
        return {key: changed(each, function) for key, each in value.items()}
    return value
