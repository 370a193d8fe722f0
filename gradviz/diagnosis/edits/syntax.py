"""The source of one file as a tree whose nodes know their text, range and parent."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

from gradviz.program import History, RawSite
from gradviz.program.places import first_line

Block = list[ast.stmt]
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While


class Range(NamedTuple):
    """A part of a text: lines and columns in characters, from 1 on; end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def begin(self) -> Range:
        """The empty range where it begins."""
        return Range(self.line, self.column, self.line, self.column)

    @property
    def end(self) -> Range:
        """The empty range where it ends."""
        return Range(self.end_line, self.end_column, self.end_line, self.end_column)

    def upto(self, other: Range) -> Range:
        """Return it with all behind it up to the end of another one."""
        return self._replace(end_line=other.end_line, end_column=other.end_column)


class Source:
    """One file or cell as it ran."""

    def __init__(self, file: str, text: str, tree: ast.Module) -> None:
        self.file = file
        self.text = text
        self.tree = tree
        self.lines = text.split("\n")
        self._parents: dict[ast.AST, ast.AST] = {}
        self._blocks: dict[ast.stmt, Block] = {}
        self._placed()

    def _placed(self) -> None:
        """Note the parent of each node and the block of each statement, in one walk.

        Files can be long, as those of libraries are.
        """
        waiting: list[ast.AST] = [self.tree]
        for node in waiting:
            children = list(ast.iter_child_nodes(node))
            self._parents.update(dict.fromkeys(children, node))
            waiting += children
            for block in blocks_of(node):
                self._blocks.update((each, block) for each in block)

    # ---- around a node ------------------------------------------------------------

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node around a node; None of the file as a whole."""
        return self._parents.get(node)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what stands around a node, from the inside out, itself first."""
        each: ast.AST | None = node
        while each is not None:
            yield each
            each = self._parents.get(each)

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that a node is part of."""
        return next(each for each in self.around(node) if isinstance(each, ast.stmt))

    def block(self, statement: ast.stmt) -> Block:
        """Return the statements among which one stands, itself included."""
        return self._blocks[statement]

    def following(self, node: ast.AST) -> ast.stmt | None:
        """Return the statement behind that of a node, in the same block."""
        statement = self.statement(node)
        block = self.block(statement)
        after = block[block.index(statement) + 1 :]
        return after[0] if after else None

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the innermost class around a node."""
        around = (e for e in self.around(node) if isinstance(e, ast.ClassDef))
        return next(around, None)

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the function around a node, or the file."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module
        inside = (each for each in self.around(node) if each is not node)
        return next((each for each in inside if isinstance(each, kinds)), self.tree)

    def loops(self, node: ast.AST) -> Iterator[Loop]:
        """Yield the loops around a node in its function, from the inside out."""
        for each in self.around(node):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                return
            if isinstance(each, Loop):
                yield each

    def statement_in(self, node: ast.AST, block: Block) -> ast.stmt | None:
        """Return the statement of a block that a node is part of."""
        members = {id(each): each for each in block}
        return next(
            (members[id(each)] for each in self.around(node) if id(each) in members),
            None,
        )

    # ---- text ---------------------------------------------------------------------

    def range(self, node: ast.AST) -> Range:
        """Return where a node stands; of a decorated function, without decorators."""
        line, end = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return Range(
            line,
            self._column(line, node.col_offset),  # type: ignore[attr-defined]
            end,
            self._column(end, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def _column(self, line: int, offset: int) -> int:
        """Turn an offset in UTF-8 bytes into a column in characters."""
        text = self.lines[line - 1].encode(errors="surrogatepass")
        return len(text[:offset].decode(errors="surrogatepass")) + 1

    def of(self, node: ast.AST) -> str:
        """Return the text of a node as it is written, comments and all."""
        return self.between(self.range(node))

    def between(self, where: Range) -> str:
        """Return the text of a range."""
        lines = self.lines[where.line - 1 : where.end_line]
        lines[-1] = lines[-1][: where.end_column - 1]
        lines[0] = lines[0][where.column - 1 :]
        return "\n".join(lines)

    def indent(self, statement: ast.stmt) -> str:
        """Return what stands before a statement in its line, if that is only space."""
        before = self.lines[statement.lineno - 1][: self.range(statement).column - 1]
        return before if not before.strip() else before[: -len(before.lstrip())]

    def deeper(self) -> str:
        """Return by what the file indents a block."""
        for node in ast.walk(self.tree):
            for block in blocks_of(node):
                around = self.parent(block[0])
                if isinstance(around, ast.stmt) and self.is_alone(block[0]):
                    return self.indent(block[0])[len(self.indent(around)) :] or "    "
        return "    "

    def is_alone(self, statement: ast.stmt) -> bool:
        """Tell whether no other statement stands in the lines of one."""
        where = self.range(statement)
        first = first_line(statement)
        before = (
            self.lines[first - 1][: where.column - 1] if first == where.line else ""
        )
        after = self.lines[where.end_line - 1][where.end_column - 1 :].strip()
        return not before.strip() and (not after or after.startswith("#"))


def blocks_of(node: ast.AST) -> Iterator[Block]:
    """Yield the lists of statements that a node holds: body, else, finally."""
    for name in ("body", "orelse", "finalbody"):
        found = getattr(node, name, None)
        if isinstance(found, list) and found and isinstance(found[0], ast.stmt):
            yield found


class Place(NamedTuple):
    """A site of a run in the syntax of its file."""

    source: Source
    node: ast.AST  # the expression that the site marks, or the whole statement
    statement: ast.stmt

    def at(self, node: ast.AST) -> Place:
        """Return another expression of the same statement."""
        return self._replace(node=node)


class _Sources:
    """Reads each file once."""

    def __init__(self, history: History) -> None:
        self._places = history.places
        self._known: dict[str, Source | None] = {}

    def of(self, file: str) -> Source | None:
        if file not in self._known:
            tree, text = self._places.tree(file), self._places.source_text(file)
            self._known[file] = None if tree is None else Source(file, text, tree)
        return self._known[file]


def source_of(history: History, file: str) -> Source | None:
    """Return the source of a file; None if it is lost."""
    return history.once(_Sources).of(file)


def place(history: History, site: RawSite | None, line: int | None = None) -> Place:
    """Return the syntax at a site, or at a line of its file; LookupError if lost."""
    if site is None:
        raise LookupError("nobody knows where it was")
    source = source_of(history, site[0].co_filename)
    if source is None:
        raise LookupError(f"the source of {site[0].co_filename} is lost")
    if line is not None:
        site = history.places.at_line(site[0], line)
    statement = history.places.statement(site)
    if statement is None:
        raise LookupError("there is no statement")
    marked = history.places.site(site)
    where = (marked.line, marked.column, marked.end_line, marked.end_column)
    for each in ast.walk(statement) if line is None else ():
        if isinstance(each, ast.expr) and source.range(each) == where:
            return Place(source, each, statement)
    return Place(source, statement, statement)


def dotted(node: ast.AST | None) -> str:
    """Return "torch.nn.Linear" of such an expression; "" of any other.

    >>> dotted(ast.parse("torch.nn.Linear", mode="eval").body)
    'torch.nn.Linear'
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def called(node: ast.AST) -> str:
    """Return the last name of what a call calls: "sum" of ``x.mean(0).sum()``."""
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def last_name(node: ast.AST) -> str:
    """Return "Linear" of ``nn.Linear``; "" of what is not named."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def calls_in(node: ast.AST, names: Collection[str] = ()) -> list[ast.Call]:
    """Return the calls in a node; those of these names, where some are given."""
    return [
        each
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and (not names or called(each) in names)
    ]


def names_in(node: ast.AST) -> list[str]:
    """Return the names that stand in an expression."""
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """Return a keyword argument of a call."""
    return next((each for each in call.keywords if each.arg == name), None)


def is_module_name(node: ast.AST) -> bool:
    """Tell ``torch``, ``F``, ``torch.nn.functional`` from a value, by convention."""
    name = dotted(node)
    return name.split(".")[0] in MODULES if name else False


MODULES = frozenset(("torch", "F", "nn", "functional", "np", "numpy", "math", "init"))
