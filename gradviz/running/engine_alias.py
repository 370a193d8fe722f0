"""Lets ``import torch`` give gradtape for a while: what ``--engine gradtape`` does.

The aliased name leads to the very same module objects, submodules included, so that
``torch.nn is gradtape.nn``. The modules themselves are left untouched, but for the
``__name__`` of the first, which libraries compare with what they imported.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from multiprocessing import spawn
from types import ModuleType
from typing import Any

from gradviz.extras import is_installed


@contextmanager
def alias(name: str, target: str) -> Generator[None, None, None]:
    """Let imports of ``name`` and of its submodules give those of ``target``.

    Modules called ``name`` that were imported before are put aside, and put back at the
    end. Processes that multiprocessing starts meanwhile keep the alias for good.

    >>> with alias("alternative_json", "json"):
    ...     from alternative_json.decoder import JSONDecoder
    >>> JSONDecoder.__module__
    'json.decoder'
    """
    finder = _AliasFinder(name, target)
    before = _take_modules(name)
    prepare = spawn.get_preparation_data
    _install(finder)
    _preload([])
    try:
        yield
    finally:
        _preload(["__main__"])
        spawn.get_preparation_data = prepare
        sys.meta_path.remove(finder)
        if target in sys.modules:
            sys.modules[target].__name__ = target
        _take_modules(name)
        sys.modules.update(before)


def _install(finder: _AliasFinder) -> None:
    """Use the finder here, and in processes that are started as fresh interpreters."""
    sys.meta_path.insert(0, finder)
    prepare = spawn.get_preparation_data

    def prepare_with_alias(name: str) -> dict[str, Any]:
        # The child unpickles this before it imports the script.
        return {**prepare(name), finder.title: finder}

    spawn.get_preparation_data = prepare_with_alias


def _preload(modules: list[str]) -> None:
    """Say what a fork server imports: the script, by default, before any alias.

    In a browser Python names the method and lacks the module that it needs.
    """
    methods = multiprocessing.get_all_start_methods()
    if "forkserver" in methods and is_installed("_multiprocessing"):
        multiprocessing.set_forkserver_preload(modules)


def _install_in_child(name: str, target: str) -> None:
    _install(_AliasFinder(name, target))


def _take_modules(name: str) -> dict[str, ModuleType]:
    """Remove the module and its submodules from sys.modules and return them."""
    names = [key for key in sys.modules if f"{key}.".startswith(f"{name}.")]
    return {key: sys.modules.pop(key) for key in names}


class _AliasFinder(MetaPathFinder):
    """Finds ``name.x`` by importing ``target.x``."""

    def __init__(self, name: str, target: str) -> None:
        self._name = name
        self._target = target
        self.title = f"alias of {name}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Install an alike finder wherever this one is unpickled."""
        return _install_in_child, (self._name, self._target)

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
        if fullname == self._name:
            module.__name__ = fullname
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
