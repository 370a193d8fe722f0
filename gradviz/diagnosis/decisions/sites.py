"""From an expression in the syntax back to a site of the log."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from gradviz.dependence.learning import once
from gradviz.diagnosis.decisions.frames import Spot
from gradviz.diagnosis.edits.syntax import Source, source_of
from gradviz.program import History, RawSite


def site_of(history: History, where: Spot) -> RawSite | None:
    """Return a site that marks an expression, or else its line."""
    node: ast.expr = where.node  # type: ignore[assignment]
    wanted = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
    on_line: RawSite | None = None
    for code in codes(history, where.source.file):
        for index, position in enumerate(code.co_positions()):
            if position == wanted:
                return code, index * 2
            if position[0] == node.lineno and on_line is None:
                on_line = code, index * 2
    return on_line


def site_at(history: History, site: RawSite | None, line: int) -> RawSite | None:
    """Return a site at another line of the file of a site, whatever function has it."""
    for code in [] if site is None else codes(history, site[0].co_filename):
        if any(line == first for _, _, first in code.co_lines()):
            return history.places.at_line(code, line)
    return None


def codes(history: History, file: str) -> Iterator[CodeType]:
    """Yield the functions of a file that the log has seen, then those inside them.

    Last, the whole file as it would be compiled: what ran only to define others.
    """
    for code in functions(history):
        if code.co_filename == file:
            yield code
    tree = history.places.tree(file)
    waiting = [] if tree is None else [compile(tree, file, "exec", dont_inherit=True)]
    for code in waiting:
        yield code
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]


@once
def functions(history: History) -> list[CodeType]:
    """Return the functions that the log has seen, then those defined inside them."""
    sites = (site for call in history.calls for site in call.frames)
    found = dict.fromkeys(site[0] for site in sites)
    waiting = list(found)
    for code in waiting:
        for each in code.co_consts:
            if isinstance(each, CodeType) and each not in found:
                found[each] = None
                waiting.append(each)
    return waiting


def sources_of(history: History) -> list[Source]:
    """Return the files of these functions, those that can be read."""
    files = dict.fromkeys(code.co_filename for code in functions(history))
    return [each for file in files if (each := source_of(history, file)) is not None]


def assignments(history: History) -> Iterator[tuple[CodeType, ast.Assign]]:
    """Yield the assignments of the program, each with the function around it.

    Of one with an annotation, what it would be without.
    """
    known: dict[str, list[ast.Assign]] = {}
    for code in functions(history):
        file = code.co_filename
        if file not in known:
            nodes = history.places.in_file((code, 0))
            known[file] = [one for each in nodes for one in _plain(each)]
        lines = {line for _, _, line in code.co_lines()} if known[file] else set()
        yield from ((code, each) for each in known[file] if each.lineno in lines)


def _plain(node: ast.AST) -> Iterator[ast.Assign]:
    if isinstance(node, ast.Assign):
        yield node
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield ast.copy_location(ast.Assign([node.target], node.value), node)


@lru_cache(maxsize=4096)
def line_of(raw: RawSite) -> tuple[str, int]:
    """Return file and line of a site, without a row in the table of places."""
    code, lasti = raw
    for index, (line, _, _, _) in enumerate(code.co_positions()):
        if index == lasti // 2 and line is not None:
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno


def same_line(one: RawSite | None, other: RawSite | None) -> bool:
    """Tell whether two sites are on one line of one function."""
    if one is None or other is None:
        return False
    return one == other or (one[0] is other[0] and line_of(one) == line_of(other))
