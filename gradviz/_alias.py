"""Lets ``import torch`` give gradtape for a while: what ``--engine gradtape`` does.

The aliased name leads to the very same module objects, submodules included, so that
``torch.nn is gradtape.nn``. The modules themselves are left untouched.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


@contextmanager
def alias(name: str, target: str) -> Generator[None, None, None]:
    """Let imports of ``name`` and of its submodules give those of ``target``.

    Modules called ``name`` that were imported before are put aside, and put back at the
    end.

    >>> with alias("alternative_json", "json"):
    ...     from alternative_json.decoder import JSONDecoder
    >>> JSONDecoder.__module__
    'json.decoder'
    """
    finder = _AliasFinder(name, target)
    before = _take_modules(name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _take_modules(name)
        sys.modules.update(before)


def _take_modules(name: str) -> dict[str, ModuleType]:
    """Remove the module and its submodules from sys.modules and return them."""
    names = [key for key in sys.modules if f"{key}.".startswith(f"{name}.")]
    return {key: sys.modules.pop(key) for key in names}


class _AliasFinder(MetaPathFinder):
    """Finds ``name.x`` by importing ``target.x``."""

    def __init__(self, name: str, target: str) -> None:
        self._name = name
        self._target = target

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
        /,
    ) -> ModuleSpec | None:
        if not f"{fullname}.".startswith(f"{self._name}."):
            return None
        actual = self._target + fullname.removeprefix(self._name)
        try:
            module = importlib.import_module(actual)
        except ModuleNotFoundError as error:
            # Passing on would find the real `name`, or hide what a module of `target`
            # itself lacks; only a submodule that `target` has not is "not found".
            if error.name != actual or actual == self._target:
                raise
            return None
        return ModuleSpec(fullname, _AliasLoader(module))


class _AliasLoader(Loader):
    """Hands out a module that is already imported, as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the spec of the alias into the module.
        module.__spec__ = self._spec
