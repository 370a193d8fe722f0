"""An edit in the making: ranges of one file and what stands there instead."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import TypeVar

from gradviz import ir
from gradviz.diagnosis.edits.syntax import Range, Source, keyword, names_in
from gradviz.program.places import first_line
from gradviz.program.sources import parsed

_ATOMS = (
    ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr,
)  # fmt: skip
_BINDING = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Await, ast.IfExp)

T = TypeVar("T")


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


def only(found: Sequence[T], why: str) -> T:
    """Return what was found, if it is one; NoEditError says why not."""
    if len(found) != 1:
        raise NoEditError(why)
    return found[0]


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
        if not isinstance(node, _ATOMS):
            return self.wrap(node, "(", f"){suffix}")
        return self.put(self.source.range(node).end, suffix)

    def wrap(self, node: ast.expr, before: str, after: str) -> Draft:
        """Put text around an expression, ``before`` ending in an open bracket."""
        where = self.source.range(node)
        return self.put(where.begin, before).put(where.end, after)

    def rename(self, node: ast.Name | ast.Attribute, name: str) -> Draft:
        """Put another name in a name's place, or behind the last dot."""
        where = self.source.range(node)
        if isinstance(node, ast.Attribute):
            start = where.end_column - len(node.attr)
            where = where._replace(line=where.end_line, column=start)
            if self.source.between(where) != node.attr:
                raise NoEditError("the name is not written out")
        return self.put(where, name)

    def drop_method(self, call: ast.expr) -> Draft:
        """Leave out the last call or attribute: ``x.f().detach()`` → ``x.f()``."""
        function = call.func if isinstance(call, ast.Call) else call
        if not isinstance(function, ast.Attribute):
            raise NoEditError("it is no method")
        value, where = function.value, self.source.range(call)
        return self.put(self._closing(self.source.range(value), where), "")

    def _closing(self, inner: Range, outer: Range) -> Range:
        """Return the rest of an expression behind its first part's own brackets."""
        behind = inner.end.upto(outer)
        rest = self.source.between(behind)
        place = _of_dot(rest)
        passed = rest[:place].split("\n")
        line, column = behind.line, behind.column + place
        if len(passed) > 1:
            line, column = line + len(passed) - 1, len(passed[-1]) + 1
        return behind._replace(line=line, column=column)

    def add_argument(self, call: ast.Call, text: str) -> Draft:
        """Add an argument, positional or ``name=value``, behind the others."""
        where = self.source.range(call)
        given = [*call.args, *(each.value for each in call.keywords)]
        close = where._replace(end_column=where.end_column - 1).end
        if not given:
            return self.put(close, text)
        last = max(map(self.source.range, given), key=lambda each: each[2:])
        tail = self.source.between(last.end.upto(close))
        if len(given) == 1 and isinstance(given[0], ast.GeneratorExp):
            raise NoEditError("a bare generator takes no argument beside it")
        code = "".join(line.partition("#")[0] for line in tail.split("\n"))
        if "," in code and "\n" in tail:  # the last of several lines ends in a comma
            line = self.source.lines[last.line - 1]
            space = line[: len(line) - len(line.lstrip())]
            return self.put(self._line_end(last.end_line), f"\n{space}{text},")
        text = f" {text}" if code.rstrip().endswith(",") else f", {text}"
        at = last.end
        if "," in code:
            at = close
        elif ")" in code:  # brackets of the last argument's own
            place = tail.rindex(")") + 1
            if "\n" in tail:
                raise NoEditError("the brackets are spread over lines")
            at = at._replace(end_column=at.column + place).end
        return self.put(at, text)

    def set_keyword(self, call: ast.Call, name: str, text: str) -> Draft:
        """Give a keyword argument another value, or add it behind the others."""
        known = keyword(call, name)
        if known is not None:
            return self.replace(known.value, text)
        return self.add_argument(call, f"{name}={text}")

    def drop_argument(self, call: ast.Call, gone: ast.expr | ast.keyword) -> Draft:
        """Leave an argument out, with the comma that set it apart."""
        given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        given.sort(key=lambda each: (each.lineno, each.col_offset))
        at = given.index(gone)
        where = self.source.range(gone)
        if at > 0:
            before = self.source.range(given[at - 1]).end
            if ")" in self.source.between(before.upto(where.begin)):
                raise NoEditError(
                    "the argument before it stands in brackets of its own"
                )
            where = before.upto(where)
        elif len(given) > 1:
            where = where.upto(self.source.range(given[1]).begin)
        return self.put(where, "")

    # ---- statements ---------------------------------------------------------------

    def put(self, where: Range, text: str) -> Draft:
        """Put any text in the place of a range."""
        self._rows.append((where, text))
        return self

    def before(self, statement: ast.stmt, *lines: str) -> Draft:
        """Put statements on lines of their own before one."""
        where = self.source.range(statement)
        ahead = self.source.lines[where.line - 1][: where.column - 1]
        if ahead.strip():
            if ":" in ahead and any(":" in each for each in lines):
                raise NoEditError("a block cannot stand there")
            return self.put(where.begin, "".join(f"{each}; " for each in lines))
        first, space = first_line(statement), self.source.indent(statement)
        text = "".join(f"{space}{each}\n" for each in lines)
        return self.put(Range(first, 1, first, 1), text)

    def after(self, statement: ast.stmt, *lines: str) -> Draft:
        """Put statements on lines of their own behind one."""
        where = self.source.range(statement)
        if not self.source.is_alone(statement):
            return self.put(where.end, "".join(f"; {each}" for each in lines))
        text = "".join(f"\n{self.source.indent(statement)}{each}" for each in lines)
        return self.put(self._line_end(where.end_line), text)

    def remove(self, statement: ast.stmt) -> Draft:
        """Take a statement and its lines away."""
        where = self.source.range(statement)
        if not self.source.is_alone(statement):
            raise NoEditError("it shares its line")
        if len(self.source.block(statement)) == 1:
            return self.put(where, "pass")
        return self.put(Range(first_line(statement), 1, where.end_line + 1, 1), "")

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
        where, text = self.source.range(target), "\n".join(moved)
        if before is not None:
            return self.put(Range(where.line, 1, where.line, 1), f"{text}\n")
        return self.put(self._line_end(where.end_line), f"\n{text}")

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
        return self._put_lines(first, last, [space + header, *inner])

    def unwrap_block(self, block: ast.With | ast.AsyncWith) -> Draft:
        """Let what stands in a block stand without it."""
        first, last = block.body[0], block.body[-1]
        where = self.source.range(block)
        if first.lineno == block.lineno:
            return self.put(where.upto(self.source.range(first).begin), "")
        if not (self.source.is_alone(block) and self.source.is_alone(first)):
            raise NoEditError("statements share a line")
        for each in block.body:
            self._refuse_texts(each)
        header = block.items[-1].context_expr.end_lineno or block.lineno
        lines = self.source.lines[header : last.end_lineno]
        inner = _indented(lines, self.source.indent(first), self.source.indent(block))
        return self._put_lines(block, last, inner)

    def _put_lines(self, first: ast.stmt, last: ast.stmt, lines: list[str]) -> Draft:
        """Put lines in the place of those from one statement to another."""
        begin = Range(first.lineno, 1, first.lineno, 1)
        end = self._line_end(last.end_lineno or 0)
        return self.put(begin.upto(end), "\n".join(lines))

    def _line_end(self, line: int) -> Range:
        """Return the empty range where a line ends."""
        column = len(self.source.lines[line - 1]) + 1
        return Range(line, column, line, column)

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
        known = {*names_in(self.source.tree), *_bound(tree)}
        if unknown := {*names_in(tree)} - known:
            raise NoEditError(f"the file knows no {', '.join(unknown)}")
        return Edit(made, safe, unified(self.source.text, changed, file))


def _bound(tree: ast.AST) -> set[str]:
    """Return the names that a file imports, of comprehensions, and of Python."""
    imported = {
        alias.asname or alias.name.split(".")[0]
        for each in ast.walk(tree)
        if isinstance(each, ast.Import | ast.ImportFrom)
        for alias in each.names
    }
    loops = (each for each in ast.walk(tree) if isinstance(each, ast.comprehension))
    walked = {name for each in loops for name in names_in(each.target)}
    return imported | walked | set(dir(builtins))


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
