"""``torch._tensor_str``: the parts of a tensor's ``repr``, for others to use."""

from __future__ import annotations

from typing import Any

from ._backend import backend_of
from ._tensor.printing import PRINT_OPTIONS, add_suffixes, contents_str
from ._tensor.printing import printoptions as printoptions
from ._tensor.printing import set_printoptions as set_printoptions

PRINT_OPTS = PRINT_OPTIONS
_add_suffixes = add_suffixes


def _tensor_str(self: Any, indent: int) -> str:  # pyright: ignore[reportUnusedFunction]
    """Return the numbers in their brackets."""
    return contents_str(backend_of(self._data).to_host(self._data), indent)
