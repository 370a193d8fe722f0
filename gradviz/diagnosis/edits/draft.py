"""An edit in the making: ranges of one file and what stands there instead."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from gradviz import ir
from gradviz.diagnosis.edits.syntax import Range, Source
from gradviz.program.sources import parsed

_ATOMS = (
    ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr,
)  # fmt: skip
_BINDING = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Await, ast.IfExp)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacements in one file that put a finding's fix into effect.

    A ``safe`` one leaves what the program means to compute as it is. One that is not
    safe takes a side: it may be the other line that is wrong.
    """

    replacements: tuple[ir.Replacement, ...]
    safe: bool
    diff: str  # unified, as people read it

    @property
    def file(self) -> str:
        """The file that it changes."""
        return self.replacements[0].file


class NoEditError(LookupError):
    """What is written there cannot be changed by a certain edit."""


class Draft:
    """Collects replacements over one source; each method keeps the rest as it is."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._rows: list[tuple[Range, str]] = []

    # ---- expressions --------------------------------------------------------------

    def replace(self, node: ast.AST, text: str) -> Draft:
        """Put an expression in another's place, in parentheses where it needs them."""
        self._rows.append((self.source.range(node), self.fitted(node, text)))
        return self

    def fitted(self, node: ast.AST, text: str) -> str:
        """Return an expression as it can stand where a node stands."""
        new = parsed_expression(f"({text})")
        if new is None or isinstance(node, ast.stmt):
            return text
        parent = self.source.parent(node)
        if isinstance(new, ast.Tuple) and not text.startswith("("):
            return f"({text})"
        is_operand = isinstance(parent, _BINDING) or (
            isinstance(parent, ast.Attribute | ast.Subscript | ast.Call)
            and node is getattr(parent, "value", getattr(parent, "func", None))
        )
        if is_operand and not isinstance(new, _ATOMS):
            return f"({text})"
        return f"({text})" if parsed_expression(text) is None else text

    def operand(self, node: ast.expr) -> str:
        """Return the text of an expression that a method or operator can follow."""
        text = self.source.of(node)
        return text if isinstance(node, _ATOMS) else f"({text})"

    def argument(self, node: ast.expr) -> str:
        """Return the text of an expression as it can stand between commas."""
        text = self.source.of(node)
        bare = isinstance(node, ast.GeneratorExp | ast.NamedExpr | ast.Yield)
        return f"({text})" if bare and not text.startswith("(") else text

    def append(self, node: ast.expr, suffix: str) -> Draft:
        """Let a method follow an expression: ``x + y`` → ``(x + y).mean()``."""
        where = self.source.range(node)
        end = _after(where)
        if isinstance(node, _ATOMS):
            self._rows.append((end, suffix))
        else:
            start = _before(where)
            self._rows += [(start, "("), (end, f"){suffix}")]
        return self

    def wrap(self, node: ast.expr, before: str, after: str) -> Draft:
        """Put text around an expression, ``before`` ending in an open bracket."""
        where = self.source.range(node)
        start = _before(where)
        end = _after(where)
        self._rows += [(start, before), (end, after)]
        return self

    def rename(self, node: ast.Name | ast.Attribute, name: str) -> Draft:
        """Put another name in a name's place, or behind the last dot."""
        where = self.source.range(node)
        if isinstance(node, ast.Attribute):
            start = where.end_column - len(node.attr)
            if (
                self.source.between(where._replace(line=where.end_line, column=start))
                != node.attr
            ):
                raise NoEditError("the name is not written out")
            where = where._replace(line=where.end_line, column=start)
        self._rows.append((where, name))
        return self

    def drop_method(self, call: ast.expr) -> Draft:
        """Leave out the last call or attribute: ``x.f().detach()`` → ``x.f()``."""
        function = call.func if isinstance(call, ast.Call) else call
        if not isinstance(function, ast.Attribute):
            raise NoEditError("it is no method")
        value, where = function.value, self.source.range(call)
        kept = self._closing(self.source.range(value), where)
        self._rows.append((kept, ""))
        return self

    def _closing(self, inner: Range, outer: Range) -> Range:
        """Return the rest of an expression behind its first part's own brackets."""
        line, column = inner.end_line, inner.end_column
        rest = self.source.between(
            Range(line, column, outer.end_line, outer.end_column)
        )
        place = _of_dot(rest)
        passed = rest[:place].split("\n")
        if len(passed) > 1:
            line, column = line + len(passed) - 1, len(passed[-1]) + 1
        else:
            column += place
        return Range(line, column, outer.end_line, outer.end_column)

    def add_argument(self, call: ast.Call, text: str) -> Draft:
        """Add an argument, positional or ``name=value``, behind the others."""
        where = self.source.range(call)
        given = [*call.args, *(each.value for each in call.keywords)]
        close = _after(where, -1)
        if not given:
            self._rows.append((close, text))
            return self
        last = max(map(self.source.range, given), key=lambda each: each[2:])
        rest = Range(last.end_line, last.end_column, close.line, close.column)
        tail = self.source.between(rest)
        if len(given) == 1 and isinstance(given[0], ast.GeneratorExp):
            raise NoEditError("a bare generator takes no argument beside it")
        code = "".join(line.partition("#")[0] for line in tail.split("\n"))
        if "," in code and "\n" in tail:  # the last of several lines ends in a comma
            first = tail.split("\n")[0]
            at = _after(last, len(first))
            line = self.source.lines[last.line - 1]
            space = line[: len(line) - len(line.lstrip())]
            self._rows.append((at, f"\n{space}{text},"))
            return self
        text = f" {text}" if code.rstrip().endswith(",") else f", {text}"
        at = _after(last)
        if "," in code:
            at = close
        elif ")" in code:  # brackets of the last argument's own
            place = tail.rindex(")") + 1
            if "\n" in tail:
                raise NoEditError("the brackets are spread over lines")
            at = Range(at.line, at.column + place, at.line, at.column + place)
        self._rows.append((at, text))
        return self

    def drop_argument(self, call: ast.Call, gone: ast.expr | ast.keyword) -> Draft:
        """Leave an argument out, with the comma that set it apart."""
        given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        given.sort(key=lambda each: (each.lineno, each.col_offset))
        at = given.index(gone)
        own = self.source.range(gone)
        if at + 1 < len(given) and at == 0:
            after = self.source.range(given[1])
            where = own._replace(end_line=after.line, end_column=after.column)
        elif at > 0:
            before = self.source.range(given[at - 1])
            where = own._replace(line=before.end_line, column=before.end_column)
            gap = where._replace(end_line=own.line, end_column=own.column)
            if ")" in self.source.between(gap):
                raise NoEditError(
                    "the argument before it stands in brackets of its own"
                )
        else:
            where = own
        self._rows.append((where, ""))
        return self

    # ---- statements ---------------------------------------------------------------

    def put(self, where: Range, text: str) -> Draft:
        """Put any text in the place of a range."""
        self._rows.append((where, text))
        return self

    def before(self, statement: ast.stmt, *lines: str) -> Draft:
        """Put statements on lines of their own before one."""
        first = min(
            [
                statement.lineno,
                *(d.lineno for d in getattr(statement, "decorator_list", ())),
            ]
        )
        if not self._begins_line(statement):
            where = self.source.range(statement)
            if self._follows_colon(statement) and any(":" in each for each in lines):
                raise NoEditError("a block cannot stand there")
            at = _before(where)
            self._rows.append((at, "".join(f"{each}; " for each in lines)))
            return self
        space = self.source.indent(statement)
        text = "".join(f"{space}{each}\n" for each in lines)
        self._rows.append((Range(first, 1, first, 1), text))
        return self

    def after(self, statement: ast.stmt, *lines: str) -> Draft:
        """Put statements on lines of their own behind one."""
        where = self.source.range(statement)
        if not self.source.is_alone(statement):
            at = _after(where)
            self._rows.append((at, "".join(f"; {each}" for each in lines)))
            return self
        space = self.source.indent(statement)
        end = len(self.source.lines[where.end_line - 1]) + 1
        at = Range(where.end_line, end, where.end_line, end)
        self._rows.append((at, "".join(f"\n{space}{each}" for each in lines)))
        return self

    def remove(self, statement: ast.stmt) -> Draft:
        """Take a statement and its lines away."""
        where = self.source.range(statement)
        if not self.source.is_alone(statement):
            raise NoEditError("it shares its line")
        if len(self.source.block(statement)) == 1:
            self._rows.append((where, "pass"))
            return self
        first = min(
            [where.line, *(d.lineno for d in getattr(statement, "decorator_list", ()))]
        )
        self._rows.append((Range(first, 1, where.end_line + 1, 1), ""))
        return self

    def move(
        self,
        statement: ast.stmt,
        *,
        before: ast.stmt | None = None,
        after: ast.stmt | None = None,
    ) -> Draft:
        """Take a statement, its comment too, to another place."""
        target = before or after
        assert target is not None
        if not (self.source.is_alone(statement) and self.source.is_alone(target)):
            raise NoEditError("statements share a line")
        if len(self.source.block(statement)) == 1:
            raise NoEditError("nothing would stay in its block")
        self._refuse_texts(statement)
        lines = self.source.lines[statement.lineno - 1 : statement.end_lineno]
        moved = _indented(
            lines, self.source.indent(statement), self.source.indent(target)
        )
        self.remove(statement)
        where = self.source.range(target)
        if before is not None:
            at, text = Range(where.line, 1, where.line, 1), "\n".join(moved) + "\n"
        else:
            end = len(self.source.lines[where.end_line - 1]) + 1
            at = Range(where.end_line, end, where.end_line, end)
            text = "\n" + "\n".join(moved)
        self._rows.append((at, text))
        return self

    def wrap_block(self, statements: Sequence[ast.stmt], header: str) -> Draft:
        """Put statements that follow each other into a block: ``with …:``."""
        if not all(self.source.is_alone(each) for each in statements):
            raise NoEditError("statements share a line")
        for each in statements:
            self._refuse_texts(each)
        first, last = statements[0], statements[-1]
        space, deeper = self.source.indent(first), self.source.deeper()
        lines = self.source.lines[first.lineno - 1 : last.end_lineno]
        inner = _indented(lines, space, space + deeper)
        text = "\n".join([space + header, *inner])
        end = len(self.source.lines[(last.end_lineno or 0) - 1]) + 1
        where = Range(first.lineno, 1, last.end_lineno or 0, end)
        self._rows.append((where, text))
        return self

    def unwrap_block(self, block: ast.With | ast.AsyncWith) -> Draft:
        """Let what stands in a block stand without it."""
        first, last = block.body[0], block.body[-1]
        where = self.source.range(block)
        if first.lineno == block.lineno:
            start = self.source.range(first)
            head = where._replace(end_line=start.line, end_column=start.column)
            self._rows.append((head, ""))
            return self
        if not (self.source.is_alone(block) and self.source.is_alone(first)):
            raise NoEditError("statements share a line")
        for each in block.body:
            self._refuse_texts(each)
        header = block.items[-1].context_expr.end_lineno or block.lineno
        lines = self.source.lines[header : last.end_lineno]
        inner = _indented(lines, self.source.indent(first), self.source.indent(block))
        end = len(self.source.lines[(last.end_lineno or 0) - 1]) + 1
        where = Range(block.lineno, 1, last.end_lineno or 0, end)
        self._rows.append((where, "\n".join(inner)))
        return self

    def _begins_line(self, statement: ast.stmt) -> bool:
        where = self.source.range(statement)
        return not self.source.lines[where.line - 1][: where.column - 1].strip()

    def _follows_colon(self, statement: ast.stmt) -> bool:
        where = self.source.range(statement)
        return ":" in self.source.lines[where.line - 1][: where.column - 1]

    def _refuse_texts(self, statement: ast.stmt) -> None:
        """Refuse to indent a string of several lines: its text would change."""
        for each in ast.walk(statement):
            is_text = isinstance(each, ast.Constant | ast.JoinedStr)
            if is_text and each.end_lineno != each.lineno:
                raise NoEditError("a text of several lines would be indented")

    # ---- the whole ----------------------------------------------------------------

    def edit(self, *, safe: bool) -> Edit:
        """Return the edit; NoEditError unless it gives another program that parses."""
        rows = sorted(self._rows, key=lambda row: (row[0][:2], row[0][2:]))
        for (one, _), (two, _) in pairwise(rows):
            if one[2:] > two[:2]:
                raise NoEditError("two changes meet")
        file = self.source.file
        made = tuple(ir.Replacement(file, *where, text) for where, text in rows)
        changed = applied(self.source.text, made)
        tree = parsed(changed)
        if tree is None or ast.dump(tree) == ast.dump(self.source.tree):
            raise NoEditError("the change gives no other program")
        if unknown := _named(tree) - _named(self.source.tree) - _bound(tree):
            raise NoEditError(f"the file knows no {', '.join(unknown)}")
        return Edit(made, safe, unified(self.source.text, changed, file))


def _named(tree: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}


def _bound(tree: ast.AST) -> set[str]:
    """Return the names that a file imports, and those of Python itself."""
    imported = {
        alias.asname or alias.name.split(".")[0]
        for each in ast.walk(tree)
        if isinstance(each, ast.Import | ast.ImportFrom)
        for alias in each.names
    }
    return imported | set(dir(builtins))


def _before(where: Range) -> Range:
    """Return the empty range where a range begins."""
    return Range(where.line, where.column, where.line, where.column)


def _after(where: Range, further: int = 0) -> Range:
    """Return the empty range where a range ends, or so many columns further."""
    line, column = where.end_line, where.end_column + further
    return Range(line, column, line, column)


def _of_dot(rest: str) -> int:
    """Return where the dot of an attribute stands behind brackets and comments."""
    place = 0
    while place < len(rest) and rest[place] != ".":
        if rest[place] == "#":
            place = rest.find("\n", place)
            if place < 0:
                break
        place += 1
    if place >= len(rest) or place < 0:
        raise NoEditError("there is no dot")
    return place


def _indented(lines: Iterable[str], old: str, new: str) -> list[str]:
    return [new + line[len(old) :] if line.startswith(old) else line for line in lines]


def parsed_expression(text: str) -> ast.expr | None:
    """Return the tree of an expression, or None if it is none by itself."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def applied(text: str, replacements: Iterable[ir.Replacement]) -> str:
    r"""Return a text with its replacements made.

    >>> applied("x = 1\n", [ir.Replacement("a.py", 1, 5, 1, 6, "2")])
    'x = 2\n'
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    parts: list[str] = []
    place = 0
    for each in replacements:
        start = starts[each.line - 1] + each.column - 1
        parts += [text[place:start], each.text]
        place = min(starts[each.end_line - 1] + each.end_column - 1, len(text))
    return "".join([*parts, text[place:]])


def unified(before: str, after: str, file: str) -> str:
    """Return the difference of two texts of a file as a unified diff, from a/ to b/."""
    name = PurePath(file).name
    rows = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        f"a/{name}",
        f"b/{name}",
        lineterm="",
        n=2,
    )
    return "\n".join(rows)
