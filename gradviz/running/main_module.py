"""The program that is to run as ``__main__``: a script, or a module as for ``-m``."""

from __future__ import annotations

import builtins
import io
import linecache
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import (
    BuiltinImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import ModuleType

from gradviz.errors import GradvizError
from gradviz.program.sources import deep_sources

_STDIN = "<stdin>"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was read, but not run yet."""

    name: str  # for titles: "train.py", "package.train"
    file: str  # its absolute path
    first: str  # what it finds in sys.argv[0]
    folder: str  # what it finds in sys.path[0]
    source: bytes
    spec: ModuleSpec | None = None  # of a module


def script_at(path: Path) -> Program:
    """Read a script, "-" from standard input; raises GradvizError if that fails."""
    if str(path) == "-":
        source = sys.stdin.buffer.read()
        _remember(source)
        return Program(_STDIN, _STDIN, "-", "", source)
    source, folder = _read(path), str(path.resolve().parent)
    return Program(path.name, os.path.abspath(path), str(path), folder, source)


def module_named(name: str) -> Program:
    """Read the module that ``python -m NAME`` would run.

    Nothing is imported: the packages around it may import what stands in for torch
    only while the program runs. Raises GradvizError if there is no such module.
    """
    here = os.getcwd()
    spec = _find(name, [here, *sys.path[1:]])
    if spec.submodule_search_locations is not None:
        spec = _find(f"{name}.__main__", [here, *sys.path[1:]])
    if spec.origin is None or not spec.has_location:
        raise GradvizError(f"{name} has no source to run.")
    file = os.path.abspath(spec.origin)
    return Program(name, file, file, here, _read(Path(file)), spec)


def _remember(source: bytes) -> None:
    """Let reports quote a program that stands in no file."""
    lines = source.decode(errors="replace").splitlines(keepends=True)
    linecache.cache[_STDIN] = len(source), None, lines, _STDIN


def _find(name: str, path: Sequence[str]) -> ModuleSpec:
    package, _, _ = name.rpartition(".")
    inside = _find(package, path).submodule_search_locations if package else path
    spec = PathFinder.find_spec(name, inside) if inside else None
    if spec is None:
        raise GradvizError(f"there is no module {name!r} to run.")
    return spec


def _read(script: Path) -> bytes:
    try:
        if script.is_dir():
            raise GradvizError(f"{script} is a folder; name a script in it.")
        with io.open_code(os.path.abspath(script)) as file:
            return file.read()
    except OSError as error:
        reason = (error.strerror or "it is not a file").lower()
        raise GradvizError(f"{script} cannot be read: {reason}.") from None


@contextmanager
def as_main(
    program: Program, arguments: Sequence[str], *, stays: bool = False
) -> Generator[ModuleType, None, None]:
    """Arrange sys as Python does for a program; put everything back afterwards.

    Not if it ``stays``: then atexit callbacks and daemon threads find their own
    ``__main__`` for as long as the process lives, and Python tears it down as ever.
    """
    main = sys.modules["__main__"]
    module = _main_module(program, like=main)
    argv, path = sys.argv, list(sys.path)
    sys.argv = [program.first, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = program.folder
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        if not stays:
            sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main


def _main_module(program: Program, like: ModuleType) -> ModuleType:
    """Return ``__main__`` with the names that Python gives it, in Python's order."""
    module = ModuleType("__main__")
    names, spec, cached = module.__dict__, program.spec, None
    if spec is not None:
        names["__package__"], names["__spec__"] = spec.parent, spec
        names["__loader__"], cached = spec.loader, spec.cached
    elif program.file == _STDIN:
        names["__loader__"] = BuiltinImporter
    else:
        names["__loader__"] = SourceFileLoader("__main__", program.file)
    if "__annotations__" in like.__dict__ or sys.version_info < (3, 14):
        names["__annotations__"] = {}
    names["__builtins__"] = builtins
    names["__file__"], names["__cached__"] = program.file, cached
    return module


def execute(program: Program, module: ModuleType) -> None:
    """Run the program, after the packages that it lies in.

    Whoever called us counts against no limit of the program's.
    """
    if program.spec is not None and program.spec.parent:
        import_module(program.spec.parent)
    with deep_sources():
        code = compile(program.source, program.file, "exec", dont_inherit=True)
    before = sys.getrecursionlimit()
    raised = before + (before - 2) - _deepest() + _OF_EXEC
    sys.setrecursionlimit(raised)
    try:
        exec(*(code, module.__dict__))  # as for the first time: never specialized
    finally:
        if sys.getrecursionlimit() == raised:
            sys.setrecursionlimit(before)


_OF_EXEC = 1 if sys.version_info >= (3, 12) else 2
"""What the call of exec takes from the limit: up to Python 3.11 calls in C count."""


def _deepest(reached: int = 0) -> int:
    """Return how often a function can call itself; the limit less 2 in a script."""
    try:
        return _deepest(reached + 1)
    except RecursionError:
        return reached
