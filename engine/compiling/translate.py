"""Writing functions of the engine as makers, for Cython.

A maker takes a function's globals once and returns the function as a closure over
them. Its lines stay where they are in the source, so tracebacks name them. Attributes
are read, written and called through ``attributes.h``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

MARK, VERB = "template", "compiled"
"""The decorator of templates, and what is called on functions: both say "this one"."""

_PLAIN = (
    *(ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.Expr, ast.Assert),
    *(ast.Pass, ast.Break, ast.Continue, ast.Delete),
)
_MOST_GIVEN = 3  # arguments of a method that is called through the header


class CannotCompileError(ValueError):
    """A function has something in it, or beside it, that makers have no form for."""


@dataclass(frozen=True)
class Translation:
    """One source file with its makers, and what they are called."""

    text: str
    makers: dict[str, str]  # by the function's qualified name
    attributes: set[str] = field(repr=False)


def translate(source: str, prefix: str) -> Translation:
    """Return the makers of all functions that a source marks.

    Raises CannotCompileError for a function that a maker cannot have.
    """
    tree = ast.parse(source)
    rewriting, lines, makers = _Attributes(), _Lines(source), {}
    outside = _names_of(tree)
    for name, function in _marked(tree):
        makers[name] = maker = f"{prefix}_{name.replace('.', '_')}"
        _write(lines, rewriting, function, maker, outside)
    return Translation(lines.text(), makers, rewriting.names)


def _marked(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions, by name, that are templates or handed to ``compiled``."""
    handed = {
        ast.unparse(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == VERB
    }
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for each in inner:
            if isinstance(each, ast.FunctionDef):
                marks = [ast.unparse(mark) for mark in each.decorator_list]
                if MARK in marks or owner + each.name in handed:
                    yield owner + each.name, each


def _names_of(tree: ast.Module) -> set[str]:
    """Return the globals of a module, all of which keep their first value."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(a.asname or a.name).partition(".")[0] for a in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= _stored(node)
    return found - {
        n for g in ast.walk(tree) if isinstance(g, ast.Global) for n in g.names
    }


def _stored(node: ast.AST) -> set[str]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def _write(
    lines: _Lines,
    rewriting: _Attributes,
    function: ast.FunctionDef,
    maker: str,
    outside: set[str],
) -> None:
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        raise CannotCompileError(f"{function.name} takes more than plain arguments")
    arguments = [*given.args, *given.kwonlyargs]
    own = {a.arg for a in arguments} | _stored(function)
    read = {n.id for s in function.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    defaults = [*given.defaults, *given.kw_defaults]
    missing: list[ast.expr | None] = [None] * (len(arguments) - len(defaults))
    heads = [
        a.arg if value is None else f"{a.arg}={ast.unparse(value)}"
        for a, value in zip(arguments, [*missing, *defaults], strict=True)
    ]
    lines.put(function.lineno - 1, 0, f"def {maker}(scope):")
    lines.put(function.lineno, 4, f"def {function.name}({', '.join(heads)}):")
    _Statements(lines, rewriting).block(function.body, 8)
    taken = [
        f"{n} = scope[{n!r}]" for n in sorted(read & outside - own - {"new_object"})
    ]
    end = function.end_lineno or function.lineno
    lines.put(end + 1, 4, "; ".join([*taken, f"return {function.name}"]))


class _Lines:
    """The lines of the translation, each where it is in the source."""

    def __init__(self, source: str) -> None:
        self.source = source.splitlines()
        self._found = [""] * (len(self.source) + 1)

    def put(self, number: int, indent: int, text: str) -> None:
        if self._found[number - 1]:
            raise CannotCompileError(f"line {number} is taken, no room for {text!r}")
        self._found[number - 1] = " " * indent + text

    def put_word(self, word: str, first: int, indent: int) -> None:
        """Write ``else:`` or ``finally:`` before the line its block begins with."""
        number = first - 1
        while not self.starts(number, word):
            number -= 1
        self.put(number, indent, f"{word}:")

    def starts(self, number: int, word: str) -> bool:
        return self.source[number - 1].lstrip().startswith(word)

    def text(self) -> str:
        return "\n".join(self._found) + "\n"


class _Attributes(ast.NodeTransformer):
    """Has attributes read, written and called by the functions of the header."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def _by(self, verb: str, name: str, *given: ast.expr) -> ast.Call:
        self.names.add(name)
        return _call(f"{verb}_{name}", *given)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            return self._by("get", node.attr, value)
        return ast.Attribute(value, node.attr, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(
                slice=ast.Constant(value=int()) as index, ctx=ast.Load()
            ):
                return _call("gt_item", self.visit(node.value), index)
            case _:
                self.generic_visit(node)
                return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function, given = node.func, [self.visit(each) for each in node.args]
        plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in given)
        match function:
            case ast.Name(id="new_object"):
                return _call("gt_make", *given)
            case ast.Name() if plain and not given:
                return _call("gt_call0", function)
            case ast.Attribute(value=owner, attr=name) if name != "run" or (
                ast.unparse(owner).rpartition(".")[2] not in ("now", "mode")
            ):
                if plain and len(given) <= _MOST_GIVEN:
                    verb = f"call{len(given) + 1}"
                    return self._by(verb, name, self.visit(owner), *given)
                function = ast.Attribute(self.visit(owner), name, function.ctx)
            case _:  # a kernel is run by what a slot holds, not by a method
                function = self.visit(function)
        return ast.Call(function, given, [self.visit(each) for each in node.keywords])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.Assign([node.target], node.value, lineno=node.lineno))

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        written = [t for t in node.targets if isinstance(t, ast.Attribute)]
        others = [self.visit(t) for t in node.targets if t not in written]
        made: list[ast.stmt] = []
        if others or (len(written) > 1 and not isinstance(value, ast.Constant)):
            held = ast.Name("value_", ast.Store())
            targets: list[ast.expr] = [*others, *([held] if written else [])]
            made.append(ast.Assign(targets, value, lineno=node.lineno))
            value = ast.Name("value_", ast.Load())
        for target in written:
            owner = self.visit(target.value)
            made.append(ast.Expr(self._by("set", target.attr, owner, value)))
        return made


def _call(function: str, *given: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), list(given), [])


class _Statements:
    """Writes statements, the first line of each at its place."""

    def __init__(self, lines: _Lines, rewriting: _Attributes) -> None:
        self._lines, self._rewriting = lines, rewriting

    def block(self, body: Sequence[ast.stmt], indent: int) -> None:
        for each in body:
            self._statement(each, indent)

    def _text(self, node: ast.AST) -> str:
        made = self._rewriting.visit(node)
        nodes = made if isinstance(made, list) else [made]
        return "; ".join(ast.unparse(ast.fix_missing_locations(n)) for n in nodes)

    def _part(self, word: str, body: Sequence[ast.stmt], indent: int) -> None:
        if body:
            self._lines.put_word(word, body[0].lineno, indent)
            self.block(body, indent + 4)

    def _headed(self, line: int, head: str, body: Sequence[ast.stmt], at: int) -> None:
        self._lines.put(line, at, f"{head}:")
        self.block(body, at + 4)

    def _statement(self, node: ast.stmt, indent: int) -> None:
        text, line = self._text, node.lineno
        match node:
            case ast.If():
                self._if(node, indent, "if")
            case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                head = f"for {text(target)} in {text(iterated)}"
                self._headed(line, head, body, indent)
                self._part("else", orelse, indent)
            case ast.While(test=test, body=body, orelse=orelse):
                self._headed(line, f"while {text(test)}", body, indent)
                self._part("else", orelse, indent)
            case ast.With(items=[ast.withitem(context_expr=entered)], body=body):
                self._headed(line, f"with {text(entered)}", body, indent)
            case ast.Try():
                self._try(node, indent)
            case ast.Expr(value=ast.Constant()):
                self._lines.put(line, indent, "pass")  # a docstring
            case ast.AnnAssign() | ast.stmt() if isinstance(
                node, (ast.AnnAssign, *_PLAIN)
            ):
                self._lines.put(line, indent, text(node))
            case _:
                raise CannotCompileError(f"no form for {ast.unparse(node)!r}")

    def _if(self, node: ast.If, indent: int, word: str) -> None:
        self._headed(node.lineno, f"{word} {self._text(node.test)}", node.body, indent)
        match node.orelse:
            case [ast.If() as other] if self._lines.starts(other.lineno, "elif"):
                self._if(other, indent, "elif")
            case orelse:
                self._part("else", orelse, indent)

    def _try(self, node: ast.Try, indent: int) -> None:
        self._headed(node.lineno, "try", node.body, indent)
        for handler in node.handlers:
            kind = f" {self._text(handler.type)}" if handler.type else ""
            name = f" as {handler.name}" if handler.name else ""
            self._headed(handler.lineno, f"except{kind}{name}", handler.body, indent)
        self._part("else", node.orelse, indent)
        self._part("finally", node.finalbody, indent)
