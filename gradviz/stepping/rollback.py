"""Puts ``.grad`` back to what it was when a pass is given up."""

from __future__ import annotations

import weakref
from typing import Any


class Rollback:
    """Remembers each leaf's ``.grad`` just before the pass first changes it."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._before: dict[int, tuple[weakref.ref[Any], Any, Any]] = {}

    def remember(self, leaf: Any) -> None:
        """Keep the ``.grad`` of a leaf: the tensor itself and a copy of its values."""
        if id(leaf) in self._before:
            return
        grad = leaf.grad
        copy = None if grad is None else grad.detach().clone()
        self._before[id(leaf)] = weakref.ref(leaf), grad, copy

    def undo(self) -> None:
        """Give every remembered leaf its old ``.grad``, the same tensor object."""
        with self._library.no_grad():
            for reference, grad, copy in self._before.values():
                leaf = reference()
                if leaf is None:
                    continue
                if grad is not None:
                    grad.copy_(copy)
                leaf.grad = grad
        self._before.clear()
