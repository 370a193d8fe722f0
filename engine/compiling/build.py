"""From the sources of gradtape to its extension module ``_compiled``."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import shlex
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from .translate import MARK, VERB, Translation, translate

ENGINE = Path(__file__).resolve().parent.parent
MODULE = "_compiled"
REQUIREMENTS = ["cython>=3.1", "setuptools>=70"]

_HEADER = Path(__file__).with_name("attributes.h")
_FOLDER, _SHOWN = "gradtape/", "<gradtape>/"  # where sources are, and in tracebacks
_ARITIES = range(1, 5)  # as in the header


def is_wanted() -> bool:
    """Tell whether this is a machine that compiles for CPython, and nobody minds."""
    if os.environ.get("GRADTAPE_PURE") or platform.python_implementation() != "CPython":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False  # the tables of attributes have no locks
    chosen = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cl"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(shlex.split(chosen)[0]) is not None and header.exists()


def build(folder: Path, package: Path = ENGINE / "gradtape") -> Path | None:
    """Compile what ``package`` marks; return the module's file in ``folder``.

    None where that is impossible, for whatever reason: it says nothing.
    """
    if not is_wanted():
        return None
    with tempfile.TemporaryDirectory() as name, _silence():
        try:
            write_sources(package, Path(name))
            return _compile(Path(name), folder)
        except (Exception, SystemExit):  # no Cython, a compiler that does not work, …
            if os.environ.get("GRADTAPE_VERBOSE"):
                raise
            return None


def marked_files(package: Path) -> list[Path]:
    """Return the sources that have something to compile."""
    marks = f"\n@{MARK}\n", f" = {VERB}("
    files = sorted(package.rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    return [
        f for f, text in zip(files, texts, strict=True) if any(m in text for m in marks)
    ]


def write_sources(package: Path, folder: Path) -> None:
    """Write what Cython compiles: a list of all makers, and the files they lie in."""
    marks = _fingerprint(package)
    files: list[str] = []
    rows: list[str] = []
    attributes: set[str] = set()
    for file in marked_files(package):
        source = file.read_text(encoding="utf-8")
        place = file.relative_to(package)
        module = ".".join(place.with_suffix("").parts)
        made = translate(source, module.replace(".", "_"))
        written = folder / "gradtape" / place
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(made.text, encoding="utf-8")
        files.append(f"{_FOLDER}{place.as_posix()}")
        rows += _rows(made, module, compile(source, str(file), "exec"), marks)
        attributes |= made.attributes
    names = sorted(attributes)
    shutil.copy(_HEADER, folder)
    listed = "".join(f"ATTRIBUTE({name})\n" for name in names)
    header = f'#include "{_HEADER.name}"\n{listed}'
    (folder / "names.h").write_text(header, encoding="utf-8")
    includes = [f'include "{file}"' for file in files]
    shown = [file.replace(_FOLDER, _SHOWN, 1) for file in files]
    table = ["MAKERS = {", *rows, "}", f"FILES = {shown}", ""]
    text = "\n".join([_declarations(names), *includes, *table])
    (folder / f"{MODULE}.pyx").write_text(text, encoding="utf-8")


def _fingerprint(package: Path) -> Any:
    file = package / "_common" / "compiled.py"
    spec = importlib.util.spec_from_file_location("_marks_of_functions", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fingerprint


def _rows(made: Translation, module: str, code: CodeType, marks: Any) -> Iterator[str]:
    found = dict(_functions(code))
    for name, maker in made.makers.items():
        yield f"    '{module}.{name}': ({maker}, {marks(found[name])}),"


def _functions(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each.co_qualname, each
            yield from _functions(each)


def _declarations(names: list[str]) -> str:
    lines = [
        'cdef extern from "names.h":',
        "    object gt_make(object)",
        "    object gt_call0(object)",
        "    object gt_item(object, Py_ssize_t)",
    ]
    for name in names:
        lines.append(f"    object get_{name}(object)")
        lines.append(f"    int set_{name}(object, object) except -1")
        for count in _ARITIES:
            given = ", ".join(["object"] * count)
            lines.append(f"    object call{count}_{name}({given})")
    return "\n".join(lines)


def _compile(sources: Path, folder: Path) -> Path:
    from Cython.Build import cythonize  # pyright: ignore[reportMissingImports]
    from setuptools import Extension
    from setuptools.dist import Distribution

    with contextlib.chdir(sources):
        small = ["-g0"] if os.name == "posix" else []  # a sixth of the size
        source = [f"{MODULE}.pyx"]
        extension = Extension(f"gradtape.{MODULE}", source, extra_compile_args=small)
        made = cythonize(
            [extension],
            compiler_directives={"language_level": 3, "annotation_typing": False},
            quiet=True,
        )
        for each in made:
            _rename_files(Path(each.sources[0]))
        command: Any = Distribution({"ext_modules": made}).get_command_obj("build_ext")
        command.build_lib, command.build_temp = "built", "objects"
        command.ensure_finalized()
        command.run()
        (file,) = Path("built", "gradtape").glob(f"{MODULE}.*")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(file, folder))


def _rename_files(written: Path) -> None:
    """Have tracebacks name files as the package registers them."""
    text = written.read_text(encoding="utf-8")
    text = text.replace(f'"{_FOLDER}', f'"{_SHOWN}')
    written.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _silence() -> Generator[None]:
    """Send what compilers say nowhere, except where ``GRADTAPE_VERBOSE`` is set."""
    if os.environ.get("GRADTAPE_VERBOSE"):
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        try:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            quiet = contextlib.redirect_stdout, contextlib.redirect_stderr
            with quiet[0](nowhere), quiet[1](nowhere):
                yield
        finally:
            for number, before in zip((1, 2), kept, strict=True):
                os.dup2(before, number)
                os.close(before)
