"""Handles for things that were registered and can be taken back."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

Registry = OrderedDict[int, Any]
"""Hooks by the number of their handle, in the order in which they run."""


class RemovableHandle:
    """Takes one registration back; removing twice does no harm.

    It refers weakly to ``hooks_dict``, and to further tables in ``extra_dict`` that
    know the registration under the same number. A handle that is copied or pickled
    together with its tables refers to their copies.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda g: g * 2) as handle:
    ...     x.sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    __module__ = "gradtape.utils.hooks"

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.extra_dict_ref = _references(
            [extra_dict] if isinstance(extra_dict, dict) else extra_dict
        )

    def remove(self) -> None:
        """Take the registration back."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table: Any = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, int, tuple[Any, ...]]:
        extra = tuple(reference() for reference in self.extra_dict_ref)
        return self.hooks_dict_ref(), self.id, extra

    def __setstate__(self, state: Sequence[Any]) -> None:
        hooks, self.id = state[:2]
        extra = state[2] if len(state) > 2 else ()
        # Where the table is gone, refer to one that is gone as well.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = _references(extra)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _references(tables: Sequence[Any] | None) -> tuple[weakref.ref[Any], ...]:
    if not isinstance(tables, list | tuple):
        return ()
    return tuple([weakref.ref(table) for table in tables])


def new_registry() -> Registry:
    """Return an ordered hook table that handles refer to weakly."""
    return OrderedDict()


def register(hooks: Registry, hook: Any) -> RemovableHandle:
    """Add ``hook`` to the table and return the handle that takes it out."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
