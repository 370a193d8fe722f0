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
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from gradviz.errors import GradvizError

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
    program: Program, arguments: Sequence[str]
) -> Generator[ModuleType, None, None]:
    """Arrange sys as Python does for a program; put everything back afterwards."""
    module = ModuleType("__main__")
    if program.file != _STDIN:
        module.__file__ = program.file
    module.__dict__["__builtins__"] = builtins
    if program.spec is not None:
        module.__spec__ = program.spec
        module.__package__ = program.spec.parent
    argv, path, main = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = [program.first, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = program.folder
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main


def execute(program: Program, module: ModuleType) -> None:
    """Run the program, after the packages that it lies in."""
    if program.spec is not None and program.spec.parent:
        import_module(program.spec.parent)
    code = compile(program.source, program.file, "exec", dont_inherit=True)
    exec(code, module.__dict__)
