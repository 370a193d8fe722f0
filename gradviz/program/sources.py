"""Sites and sources: from code object and instruction to file, columns and text."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from types import CodeType
from typing import Any

from gradviz import ir
from gradviz.program.values import RawSite

MAX_SOURCE_CHARS = 400_000
"""Longer files are left out of a snapshot; the lines of its sites are kept."""

# Instructions of a loop or a with statement cover its whole block; who looks for the
# place wants its first line. The indentation is ASCII, so bytes are characters there.
_HEADER = re.compile(
    r"(\s*)(?:async\s+)?(?:for|with|while|if)\b.*?(?=\s*:\s*(?:#.*)?$)"
)


@contextmanager
def deep_sources() -> Generator[None]:
    """Read expressions as long as Python itself does at the start of a script.

    Up to Python 3.11, how deep one may nest depends on how deep its reader stands. And
    a tree is bounded more tightly than the code that Python makes of it.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(2 * before)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def parsed(source: str | bytes) -> ast.Module | None:
    """Return the syntax tree of a source; None of one that cannot be read."""
    unreadable = SyntaxError, ValueError, RecursionError, MemoryError
    with suppress(*unreadable), deep_sources():
        return ast.parse(source)
    return None


Position = tuple[int | None, int | None, int | None, int | None]
_NOWHERE: Position = (None, None, None, None)


class SiteTable:
    """Numbers sites, and keeps the text of the files they are in."""

    def __init__(self, kept: Mapping[str, list[str]] | None = None) -> None:
        self.rows: list[ir.Site] = []
        self._kept = kept or {}  # lines of files, as they were when they mattered
        self._index: dict[tuple[int, int], int] = {}
        self._lines: dict[tuple[str, int], int] = {}
        self._codes: list[CodeType] = []  # keeps the ids in _index from being reused
        self._positions: dict[int, tuple[Position, ...]] = {}  # by the id of the code
        self._files: dict[str, int | None] = {}
        self._sources: list[ir.Source] = []

    def add(self, raw: RawSite | None) -> int | None:
        if raw is None:
            return None
        code, lasti = raw
        key = (id(code), lasti)
        index = self._index.get(key)
        if index is None:
            self._codes.append(code)
            index = self._index[key] = len(self.rows)
            self.rows.append(self._resolve(code, lasti))
        return index

    def line(self, file: str, line: int, function: str) -> int:
        """Number a whole line of a file: where nothing more exact was kept."""
        index = self._lines.get((file, line))
        if index is None:
            index = self._lines[file, line] = len(self.rows)
            text = "".join(self._lines_of(file)[line - 1 : line]).rstrip("\n")
            source = self._source(file)
            self.rows.append(
                ir.Site(file, line, line, text=text, function=function, source=source)
            )
        return index

    def definitions(self, codes: Iterable[CodeType | None]) -> tuple[int, ...]:
        """Number the lines where functions are defined; -1 where there is none."""
        return tuple([self._definition(code) for code in codes])

    def _definition(self, code: CodeType | None) -> int:
        if code is None:
            return -1
        around = code.co_qualname.rpartition(".")[0].removesuffix(".<locals>")
        function = around.rpartition(".")[2] or "<module>"
        return self.line(code.co_filename, code.co_firstlineno, function)

    def sources(self) -> tuple[ir.Source, ...]:
        """Return the texts of all files that have a site."""
        return tuple(self._sources)

    def _resolve(self, code: CodeType, lasti: int) -> ir.Site:
        line, end_line, start, end = self._position(code, lasti)
        file = code.co_filename
        lines = self._lines_of(file)[line - 1 : end_line]
        header = (
            _HEADER.match(lines[0]) if len(lines) > 1 and start is not None else None
        )
        if header is not None and header.end(1) == start:
            lines, end_line, end = lines[:1], line, len(header[0].encode())
        text = "".join(lines).rstrip("\n")
        return ir.Site(
            file=file,
            line=line,
            end_line=end_line,
            column=_characters(lines[0], start)
            if lines and start is not None
            else None,
            end_column=_characters(lines[-1], end)
            if lines and end is not None
            else None,
            text=text,
            function=code.co_name,
            source=self._source(file),
        )

    def _position(
        self, code: CodeType, lasti: int
    ) -> tuple[int, int, int | None, int | None]:
        known = self._positions.get(id(code))
        if known is None:
            known = self._positions[id(code)] = tuple(code.co_positions())
        at = known[lasti // 2] if 0 <= lasti // 2 < len(known) else _NOWHERE
        line, end_line, start, end = at
        if line is None:
            return code.co_firstlineno, code.co_firstlineno, None, None
        return line, end_line or line, start, end

    def _lines_of(self, file: str) -> list[str]:
        kept = self._kept.get(file)
        return linecache.getlines(file) if kept is None else kept

    def _source(self, file: str) -> int | None:
        if file not in self._files:
            text = "".join(self._lines_of(file))
            keep = 0 < len(text) <= MAX_SOURCE_CHARS
            self._files[file] = len(self._sources) if keep else None
            if keep:
                label, cell = cell_of(file)
                self._sources.append(ir.Source(file, text, label, cell))
        return self._files[file]


def _characters(line: str, column: int) -> int:
    """Turn a 0-based column in UTF-8 bytes into a 1-based one in characters."""
    return len(line.encode()[:column].decode(errors="ignore")) + 1


def cell_of(file: str) -> tuple[str | None, str | None]:
    """Return label and id of the notebook cell whose code has this file name."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or os.path.exists(file):
        return None, None
    try:
        label = shell.compile.format_code_name(file)
    except Exception:
        return None, None
    text = " ".join(label) if isinstance(label, tuple) else label
    cells: dict[str, str] = getattr(shell, "_gradviz_cells", {})
    return (str(text) if text else None), cells.get(file)
