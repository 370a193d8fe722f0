"""Ask everything in a batch that can be pinned to pin its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .collate import is_named_tuple, mapping_like, sequence_like


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return a batch with every tensor, and every object that can, pinned.

    An object of the user's is pinned by its method ``pin_memory``.

    >>> pin_memory({"text": ["left alone"]})
    {'text': ['left alone']}
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        values = {key: pin_memory(each, device) for key, each in data.items()}
        return mapping_like(data, values)
    if is_named_tuple(data):
        return type(data)(*(pin_memory(each, device) for each in data))
    if isinstance(data, tuple):
        return type(data)(pin_memory(each, device) for each in data)
    if isinstance(data, Sequence):
        return sequence_like(data, [pin_memory(each, device) for each in data])
    return data
