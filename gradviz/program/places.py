"""Places: from a raw site to file, line, columns, and the syntax around it."""

from __future__ import annotations

import ast
import linecache
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType
from typing import Any

from gradviz import ir
from gradviz.program.sources import SiteTable, cell_of, deep_sources, parsed
from gradviz.program.values import RawSite
from gradviz.text.words import without_comments


class Places:
    """Resolves sites once, and parses each file once."""

    def __init__(self) -> None:
        self.table = SiteTable()
        self._trees: dict[str, ast.Module | None] = {}
        self._statements: dict[RawSite, ast.stmt | None] = {}
        self._literals: dict[str, frozenset[float]] = {}

    def site(self, raw: RawSite) -> ir.Site:
        """Return file, lines, columns and text of a site."""
        row = self.table.add(raw)
        assert row is not None
        return self.table.rows[row]

    def line(self, raw: RawSite) -> int:
        """Return the first line of the expression at a site."""
        return self.site(raw).line

    def expression(self, raw: RawSite | None) -> str:
        """Return the text of the expression at a site on one line, or ""."""
        if raw is None:
            return ""
        site = self.site(raw)
        lines = site.text.split("\n")
        if site.column is not None and site.end_column is not None:
            lines[-1] = lines[-1][: site.end_column - 1]
            lines[0] = lines[0][site.column - 1 :]
        parts = without_comments("\n".join(lines)).split("\n")
        return " ".join(part.strip() for part in parts if part.strip())

    def is_within(self, raw: RawSite | None, around: RawSite | None) -> bool:
        """Tell whether the expression at a site is another one, or a part of it."""
        if raw is None or around is None:
            return False
        inner, outer = self.site(raw), self.site(around)
        if None in (inner.column, outer.column) or inner.file != outer.file:
            return False
        begins = (inner.line, inner.column) >= (outer.line, outer.column)
        ends = (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
        return begins and ends

    def source_line(self, file: str, line: int) -> str:
        """Return one line of a file or cell, without its end; "" where it is lost."""
        return linecache.getline(file, line).rstrip("\n")

    def source_text(self, file: str) -> str:
        """Return the text of a file or cell as it ran; "" where it is lost."""
        return "".join(linecache.getlines(file))

    def tree(self, file: str) -> ast.Module | None:
        """Return the syntax tree of a file or cell, or None where it is lost."""
        if file not in self._trees:
            self._trees[file] = parsed(self.source_text(file))
        return self._trees[file]

    def in_file(self, raw: RawSite | None) -> Iterator[ast.AST]:
        """Yield the syntax of the file of a site; nothing where it is lost."""
        tree = None if raw is None else self.tree(raw[0].co_filename)
        yield from () if tree is None else ast.walk(tree)

    def in_function(self, raw: RawSite | None) -> Iterator[ast.AST]:
        """Yield the syntax of the function of a site, or of its file."""
        function = None if raw is None else self.function(raw[0])
        yield from self.in_file(raw) if function is None else ast.walk(function)

    def around(self, raw: RawSite | None, line: int | None = None) -> Iterator[ast.AST]:
        """Yield what stands over the line of a site, or another, outermost first."""
        if raw is not None:
            line = line or self.line(raw)
            yield from over_lines(self.tree(raw[0].co_filename), line, line)

    def statement(self, raw: RawSite | None) -> ast.stmt | None:
        """Return the innermost statement around a site."""
        if raw is None:
            return None
        if raw not in self._statements:
            self._statements[raw] = self._innermost(self.site(raw))
        return self._statements[raw]

    def literals(self, file: str) -> frozenset[float]:
        """Return the floats that a file or cell spells out: ``1e-8``, ``.5``."""
        if file not in self._literals:
            tree = self.tree(file)
            self._literals[file] = frozenset(
                each.value
                for each in (ast.walk(tree) if tree else ())
                if isinstance(each, ast.Constant) and isinstance(each.value, float)
            )
        return self._literals[file]

    def is_shown(self, raw: RawSite) -> bool:
        """Tell whether a notebook shows what a statement gives: the last of a cell."""
        file = raw[0].co_filename
        tree = self.tree(file)
        is_last = tree is not None and tree.body[-1:] == [self.statement(raw)]
        return is_last and cell_of(file)[0] is not None

    def _innermost(self, site: ir.Site) -> ast.stmt | None:
        """Of several statements on one line, the last that begins before the site."""
        before = self.source_line(site.file, site.line)
        if site.column is not None:
            before = before[: site.column - 1]
        begins = site.line, len(before.encode())
        found: ast.stmt | None = None
        for each in over_lines(self.tree(site.file), site.line, site.end_line):
            if (
                isinstance(each, ast.stmt)
                and (found is None or each.lineno >= found.lineno)
                and (first_line(each), each.col_offset) <= begins
            ):
                found = each
        return found

    def targets(self, raw: RawSite | None) -> list[str]:
        """Return the names that the statement at a site assigns to: ``w`` of ``w = …``.

        Attributes and items are written out: ``self.h``, ``preds[0]``.
        """
        statement = self.statement(raw)
        if isinstance(statement, ast.Assign):
            return [name for each in statement.targets for name in names_in(each)]
        if isinstance(statement, ast.AugAssign | ast.AnnAssign):
            return names_in(statement.target)
        return []

    def columns(self, file: str, line: int) -> tuple[int, int]:
        """Return where the statement of a line begins and ends in it, from 1 on.

        Of ``return x`` that is ``x``; of a statement of several lines, its first one.
        """
        text = self.source_line(file, line)
        start, end = len(text) - len(text.lstrip()), len(text)
        for each in over_lines(self.tree(file), line, line):
            if not isinstance(each, ast.stmt) or each.lineno != line:
                continue
            marked = each.value if isinstance(each, ast.Return) else each
            if marked is None or marked.lineno != line:
                continue
            start = len(text.encode()[: marked.col_offset].decode(errors="ignore"))
            if marked.end_lineno == line and marked.end_col_offset is not None:
                stop = text.encode()[: marked.end_col_offset]
                end = len(stop.decode(errors="ignore"))
        return start + 1, end + 1

    def at_line(self, code: CodeType, line: int) -> RawSite:
        """Return a site for a line of a code object: its first instruction there.

        The whole statement of that line is what the site then marks. A notebook
        compiles each statement of a cell by itself, so the line may be in none of this
        code; then its statement is compiled again.
        """
        for each in (code, self._compiled_at(code.co_filename, line)):
            positions = () if each is None else each.co_positions()
            for index, (first, _, _, _) in enumerate(positions):
                if first == line and each is not None:
                    return each, index * 2
        return code, 0

    def _compiled_at(self, file: str, line: int) -> CodeType | None:
        tree = self.tree(file)
        for each in [] if tree is None else tree.body:
            if each.lineno <= line <= (each.end_lineno or each.lineno):
                flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                with suppress(RecursionError), deep_sources():
                    return compile(ast.Module([each], []), file, "exec", flags, True)
        return None

    def function(self, code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
        """Return the definition that a code object was compiled from."""
        line = code.co_firstlineno
        for each in over_lines(self.tree(code.co_filename), line, line):
            if isinstance(each, ast.FunctionDef) and each.name == code.co_name:
                if first_line(each) == line:
                    return each
            elif (
                isinstance(each, ast.Lambda)
                and code.co_name == "<lambda>"
                and each.lineno == line
            ):
                return each
        return None


def over_lines(tree: ast.AST | None, first: int, last: int) -> Iterator[ast.AST]:
    """Yield what stands over these lines in a tree, from the outside in.

    >>> tree = ast.parse("def f(x):\\n    return x\\ny = 1")
    >>> [type(each).__name__ for each in over_lines(tree, 3, 3)]
    ['Assign', 'Name', 'Constant']
    """
    waiting: deque[Any] = deque([] if tree is None else [tree])
    while waiting:
        for each in _children(waiting.popleft(), first):
            if not hasattr(each, "lineno"):  # a case of match, a comprehension
                waiting.append(each)
            elif first_line(each) <= first and last <= _last_line(each):
                yield each
                waiting.append(each)


def _children(node: Any, line: int) -> Iterable[ast.AST]:
    """Return the children of a node; of a long block, only those around a line."""
    if not isinstance(node, ast.Module | ast.FunctionDef):
        return ast.iter_child_nodes(node)
    last = bisect_right(node.body, line, key=first_line)
    begin = last
    while begin > 0 and _last_line(node.body[begin - 1]) >= line:
        begin -= 1  # several may share a line
    around = node.body[begin:last]
    if isinstance(node, ast.Module):
        return around
    returns = [] if node.returns is None else [node.returns]
    return [node.args, *node.decorator_list, *returns, *around]


def first_line(node: Any) -> int:
    """Return the first line of a node; of a function, that of its first decorator."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _last_line(node: Any) -> int:
    return node.end_lineno or node.lineno


def names_in(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Tuple | ast.List):
        return [name for each in target.elts for name in names_in(each)]
    if isinstance(target, ast.Starred):
        return names_in(target.value)
    return [ast.unparse(target)]
