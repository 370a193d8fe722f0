"""Scope: the chain of module calls that an op runs inside."""

from __future__ import annotations

import weakref
from typing import Any


class Scope:
    """One call of one module, linked to the call it happened in.

    The module is held weakly, so that a recorded graph does not keep a model alive.
    Two calls of one module are two scopes: an unrolled cell is no cycle.
    """

    __slots__ = ("__weakref__", "_name", "kind", "module", "parent")

    def __init__(self, module: Any, parent: Scope | None) -> None:
        self.module = weakref.ref(module)
        self.kind = type(module).__name__
        self.parent = parent
        self._name: str | None = None

    @property
    def name(self) -> str:
        """Attribute path below the calling module; the class name at the top."""
        if self._name is None:
            self._name = self._find_name()
        return self._name

    def _find_name(self) -> str:
        owner = None if self.parent is None else self.parent.module()
        module = self.module()
        if owner is not None and module is not None:
            for name, child in owner.named_modules():
                if child is module and name:
                    return str(name)
        return self.kind

    def __repr__(self) -> str:
        return f"<Scope {self.name} ({self.kind})>"
