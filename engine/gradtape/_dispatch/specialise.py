"""Templates made for one op: no branch that it never takes, no loop over its parts.

A template asks flags of its op, ``if keeps_result:``, and loops over what the op
declares, ``for argument, output in savings:``. Each question costs 0.02 µs, each turn
of a loop 0.2. When an op is called for the first time, its copy of the template is
therefore compiled once more, from the same lines of the same file, with its flags
decided and its loops written out. Ops that answer alike share what was compiled.

What is known of an op, its facts, decides the tests of ``if`` and of ``a if b else c``.
Loops and list comprehensions over a fact that is a tuple are unrolled; in them, numbers
stand for themselves and other items for globals of the copy. ``any([...])`` and
``tuple([...])`` of an unrolled list become the expression that they mean.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import operator
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final

from .templates import GIVEN, bound

Facts = dict[str, Any]

_COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.Gt: operator.gt,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Lt: operator.lt,
}

_compiled: dict[tuple[Any, ...], CodeType] = {}


def specialised(template: Callable[..., Any], name: str, facts: Facts) -> Any:
    """Return a copy of a template as :func:`bound` does, made for one op.

    The template takes its arguments by position. Where its source cannot be read, the
    copy runs it as it stands; so it does where it is compiled.
    """
    own = bound(template, name, facts)
    if not isinstance(own, FunctionType):
        return own  # compiled, where questions cost nothing
    whole = own.__code__

    def specialise() -> Callable[..., Any]:
        for fact in _names(whole):
            own.__globals__.update(_items(fact, facts.get(fact)))
        own.__code__ = _code_for(template, facts, whole).replace(
            co_name=name, co_qualname=name
        )
        return own

    own.__globals__["specialise"] = specialise
    own.__code__ = _first_call.__code__.replace(co_name=name, co_qualname=name)
    return own


specialise: Callable[[], Callable[..., Any]] = GIVEN


def _first_call(*args: Any) -> Any:
    return specialise()(*args)


def _items(path: str, fact: Any) -> Iterator[tuple[str, Any]]:
    """Yield what unrolled loops call the items of a fact, and the items."""
    if isinstance(fact, tuple):
        for number, item in enumerate(fact):
            yield f"{path}_{number}", item
            yield from _items(f"{path}_{number}", item)


def _code_for(template: Any, facts: Facts, whole: CodeType) -> CodeType:
    read = [n for n in _names(whole) if n in facts]
    key = (template, *[_decisive(facts[n]) for n in read])
    if key not in _compiled:
        tree = _functions(whole.co_filename).get(template.__name__)
        _compiled[key] = whole if tree is None else _folded(tree, facts, whole)
    return _compiled[key]


def _names(code: CodeType) -> Iterator[str]:
    """Yield the globals that code reads, its comprehensions included."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _decisive(fact: Any) -> Any:
    """Return what a fact can decide: itself, its items, or whether it is anything."""
    if isinstance(fact, tuple):
        return tuple([_decisive(item) for item in fact])
    return fact if isinstance(fact, bool | int) or fact is None else bool(fact)


@cache
def _functions(file: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse("".join(linecache.getlines(file)))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _folded(tree: ast.FunctionDef, facts: Facts, whole: CodeType) -> CodeType:
    code = compile(
        ast.Module([_Folding(facts).visit(tree)], []),
        whole.co_filename,
        "exec",
        flags=__future__.annotations.compiler_flag,
        dont_inherit=True,
    )
    (found,) = [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def _spread(values: list[ast.expr]) -> list[ast.expr]:
    """Put the items of ``*[a, b]`` in its place."""
    found: list[ast.expr] = []
    for value in values:
        match value:
            case ast.Starred(value=ast.List(elts=items)):
                found += items
            case _:
                found.append(value)
    return found


class _Folding(ast.NodeVisitor):
    """Decides what facts decide, and writes loops over facts out.

    Every visit returns a new node and leaves the old one as it is, for other ops.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = dict(facts)
        self._paths: dict[str, str] = {}  # of variables of loops: which item they are

    def generic_visit(self, node: ast.AST) -> Any:
        """Return the same node of visited parts."""
        if not node._fields:  # Load(), Add() and their like
            return node
        parts = {name: self._part(value) for name, value in ast.iter_fields(node)}
        return ast.copy_location(type(node)(**parts), node)

    def _part(self, value: Any) -> Any:
        if isinstance(value, list):
            return self._all(value)
        return self.visit(value) if isinstance(value, ast.AST) else value

    def _all(self, nodes: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for each in nodes:
            visited = self.visit(each) if isinstance(each, ast.AST) else each
            found += visited if isinstance(visited, list) else [visited]
        return found

    # ---- branches ----

    def visit_If(self, node: ast.If) -> Any:
        known = self._truth(node.test)
        if known is not None:
            return self._all(node.body if known else node.orelse)
        test = self.visit(self._undecided(node.test))
        body = self._all(node.body) or [ast.copy_location(ast.Pass(), node)]
        return ast.copy_location(ast.If(test, body, self._all(node.orelse)), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        known = self._truth(node.test)
        if known is not None:
            return self.visit(node.body if known else node.orelse)
        parts = self._undecided(node.test), node.body, node.orelse
        return ast.copy_location(ast.IfExp(*map(self.visit, parts)), node)

    def _truth(self, test: ast.expr) -> bool | None:
        """Return what a condition must be, or None where it has to be asked."""
        match test:
            case ast.Name(id=name) if name in self._facts:
                return bool(self._facts[name])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                known = self._truth(operand)
                return None if known is None else not known
            case ast.BoolOp(op=kind, values=values):
                decides = isinstance(kind, ast.Or)
                parts = [self._truth(value) for value in values]
                if decides in parts:
                    return decides
                return None if None in parts else not decides
            case ast.Compare(
                left=ast.Name(id=name), ops=[kind], comparators=[ast.Constant(value=to)]
            ) if name in self._facts and type(kind) in _COMPARED:
                return _COMPARED[type(kind)](self._facts[name], to)
            case _:
                return None

    def _undecided(self, test: ast.expr) -> ast.expr:
        """Return what is left to ask of a condition that is not decided."""
        left = test
        if isinstance(test, ast.UnaryOp):
            left = ast.UnaryOp(test.op, self._undecided(test.operand))
        elif isinstance(test, ast.BoolOp):
            open_ = [self._undecided(v) for v in test.values if self._truth(v) is None]
            left = ast.BoolOp(test.op, open_) if len(open_) > 1 else open_[0]
        return left if left is test else ast.copy_location(left, test)

    # ---- loops ----

    def visit_For(self, node: ast.For) -> Any:
        found: list[ast.stmt] = []
        items = self._items_of(node.iter)
        if items is None:
            return self.generic_visit(node)
        for path, item in items:
            with self._variables(node.target, path, item):
                found += self._all(node.body)
        return found

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self._written_out(node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self._written_out(node)

    def _written_out(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        loop, *others = node.generators
        items = self._items_of(loop.iter)
        if items is None or others or loop.ifs:
            return self.generic_visit(node)
        found: list[ast.expr] = []
        for path, item in items:
            with self._variables(loop.target, path, item):
                found.append(self.visit(node.elt))
        return ast.copy_location(ast.List(found, ast.Load()), node)

    def visit_Call(self, node: ast.Call) -> Any:
        call: ast.Call = self.generic_visit(node)
        call.args = _spread(call.args)
        match call:
            case ast.Call(func=ast.Name(id="any"), args=[ast.List(elts=[one])]):
                return one
            case ast.Call(
                func=ast.Name(id="any"), args=[ast.List(elts=[_, *_] as all)]
            ):
                return ast.copy_location(ast.BoolOp(ast.Or(), all), node)
            case ast.Call(func=ast.Name(id="tuple"), args=[ast.List(elts=all)]):
                return ast.copy_location(ast.Tuple(all, ast.Load()), node)
            case _:
                return call

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        found: ast.Tuple = self.generic_visit(node)
        found.elts = _spread(found.elts)
        return found

    def visit_Name(self, node: ast.Name) -> Any:
        path = self._paths.get(node.id)
        if path is None:
            return node
        fact = self._facts[node.id]
        if fact is None or isinstance(fact, bool | int):
            return ast.copy_location(ast.Constant(fact), node)
        return ast.copy_location(ast.Name(path, ast.Load()), node)

    def _items_of(self, iterated: ast.expr) -> list[tuple[str, Any]] | None:
        if not isinstance(iterated, ast.Name):
            return None
        fact = self._facts.get(iterated.id)
        if not isinstance(fact, tuple):
            return None
        path = self._paths.get(iterated.id, iterated.id)
        return [(f"{path}_{number}", item) for number, item in enumerate(fact)]

    @contextmanager
    def _variables(self, target: ast.expr, path: str, item: Any) -> Generator[None]:
        """Let the variables of a loop stand for one item, or for its parts."""
        given = {target.id: (path, item)} if isinstance(target, ast.Name) else {}
        if isinstance(target, ast.Tuple):
            names = [each.id for each in target.elts if isinstance(each, ast.Name)]
            parts = enumerate(zip(names, item, strict=True))
            given = {n: (f"{path}_{number}", part) for number, (n, part) in parts}
        before = self._facts, self._paths
        self._facts = {**self._facts, **{n: part for n, (_, part) in given.items()}}
        self._paths = {**self._paths, **{n: where for n, (where, _) in given.items()}}
        yield
        self._facts, self._paths = before
