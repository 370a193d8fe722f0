"""Handles for things that were registered and can be taken back."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import MutableMapping
from typing import Any


class _WeakDict(dict[Any, Any]):
    """A dict that weak references may point at."""

    __slots__ = ("__weakref__",)


_ids = itertools.count()


class RemovableHandle:
    """Takes one registration back; removing twice does no harm.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda g: g * 2) as handle:
    ...     x.sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    __slots__ = ("id", "_hooks", "_strong")

    def __init__(self, hooks: MutableMapping[int, Any]) -> None:
        self.id = next(_ids)
        # Plain dicts cannot be weakly referenced; those are module globals.
        self._strong = None if isinstance(hooks, _WeakDict) else hooks
        self._hooks = weakref.ref(hooks) if isinstance(hooks, _WeakDict) else None

    def remove(self) -> None:
        """Take the registration back."""
        hooks = self._strong if self._hooks is None else self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def new_registry() -> dict[int, Any]:
    """Return an ordered hook table that handles refer to weakly."""
    return _WeakDict()


def register(hooks: MutableMapping[int, Any], hook: Any) -> RemovableHandle:
    """Add ``hook`` to the table and return the handle that takes it out."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
