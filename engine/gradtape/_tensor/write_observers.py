"""Who wants to know of writes, before and after. Writers test it for emptiness."""

from __future__ import annotations

from collections.abc import Callable

from .tensor import Tensor

before_write: list[Callable[[Tensor], None]] = []
"""Called with the tensor through which memory is about to be written."""

after_write: list[Callable[[Tensor, str, int], None]] = []
"""Called with the tensor that was written through, the op, and the version it made."""
