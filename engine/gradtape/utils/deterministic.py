"""Settings of deterministic programs: gradtape.utils.deterministic."""

from __future__ import annotations

import sys
import types

from ..ops.tensor.determinism import fill_memory, fills_memory


class _Module(types.ModuleType):
    """A module with a setting: its one variable is looked up and checked."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether deterministic programs find new memory filled."""
        return fills_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, fills: bool) -> None:
        fill_memory(fills)


sys.modules[__name__].__class__ = _Module
