"""Finds in the source which statements write an array that shares a tensor's memory.

NumPy writes are no events. What is known is the call that handed the memory out
(``arr = h.detach().numpy()``) and an interval in which the memory changed; the
statement is found by following the array's names through the syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence.op_families import words
from gradviz.diagnosis.decisions.frames import parameters
from gradviz.diagnosis.edits.syntax import called, calls_in, dotted

_VIEWS = words("reshape ravel view transpose swapaxes squeeze detach numpy")
"""Methods whose result is (mostly) the same memory."""

_SHARING = words("from_numpy as_tensor asarray frombuffer")
_PASS_ON = words("asarray ravel reshape from_numpy enumerate zip")
_METHODS = words("fill sort put itemset partition byteswap")
_FIRST = words("copyto put place putmask fill_diagonal shuffle at")
"""Functions that write their first argument."""


@dataclass(frozen=True, slots=True)
class ArrayWrite:
    """A statement that writes an array."""

    line: int
    called_from: int  # the line in the function that has the array, if it is another


class Tracker:
    """Follows names of one array through a function or a whole file."""

    def __init__(self, tree: ast.Module, names: set[str]) -> None:
        self.functions = {
            each.name: each
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef)
        }
        self.names = names

    def writes(self, scope: ast.AST, depth: int = 0) -> Iterator[ArrayWrite]:
        """Yield the writes to the array, in the order of the lines."""
        for statement in _statements(scope):
            if _written(statement, self.names):
                yield ArrayWrite(statement.lineno, statement.lineno)
            else:
                yield from self._in_functions(statement, depth)
            self.names |= set(_aliases(statement, self.names))

    def _in_functions(self, statement: ast.stmt, depth: int) -> Iterator[ArrayWrite]:
        """Look into functions of the file that are given the array."""
        for call in _calls(statement):
            function = self.functions.get(called(call))
            if function is None or depth > 3:
                continue
            given = set(_parameters(function, call, self.names))
            given |= self.names - _own_names(function)
            if given:
                inner = Tracker(ast.Module([], []), given)
                inner.functions = self.functions
                for write in inner.writes(function, depth + 1):
                    yield ArrayWrite(write.line, statement.lineno)


def export_names(statement: ast.stmt, line: int = 0, column: int = 0) -> set[str]:
    """Return the names by which a statement with an export knows the array.

    Where it makes several at once, the line and column of the export tell which.

    >>> sorted(export_names(ast.parse("arr = h.detach().numpy()").body[0]))
    ['arr']
    >>> sorted(export_names(ast.parse("x = torch.from_numpy(data)").body[0]))
    ['data', 'x']
    """
    names: set[str] = set()
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            parts = _matching(target, statement.value, line, column)
            names |= {ast.unparse(each) for each in parts}
    for call in _calls(statement):
        if called(call) in _SHARING:
            names |= {ast.unparse(_root(each)) for each in call.args[:1]}
        if called(call) in ("append", "setdefault", "update"):
            function = call.func
            assert isinstance(function, ast.Attribute)
            names.add(ast.unparse(function.value))
    return names


def writes_itself(statement: ast.stmt) -> bool:
    """Does a statement write the array that it exports: ``h.numpy()[:] = 0``?"""
    exported = {
        ast.unparse(call)
        for call in _calls(statement)
        if called(call) in ("numpy", "asarray", "from_dlpack")
    }
    return _written(statement, exported)


def _matching(
    target: ast.expr, value: ast.expr, line: int, column: int
) -> list[ast.expr]:
    """Return the parts of a target that the value at a place is assigned to."""
    if not isinstance(target, ast.Tuple | ast.List):
        return [target]
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for part, each in zip(target.elts, value.elts, strict=True):
            start = (each.lineno, each.col_offset)
            end = (each.end_lineno or 0, each.end_col_offset or 0)
            if start <= (line, column) < end:
                return [part]
    return target.elts


# ---- one statement ------------------------------------------------------------------


def _statements(scope: ast.AST) -> list[ast.stmt]:
    """Return the statements of a scope in order, without those of inner functions."""
    found: list[ast.stmt] = []
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.stmt):
            found.append(each)
        if _is_body(each) and not isinstance(each, ast.FunctionDef):
            waiting += ast.iter_child_nodes(each)
    return sorted(found, key=lambda each: (each.lineno, each.col_offset))


def _own_names(function: ast.FunctionDef) -> set[str]:
    """Return the names that are a function's own: what it binds and is given."""
    own = {
        each.id
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return own | {
        each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)
    }


def _is_body(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def _calls(statement: ast.stmt) -> list[ast.Call]:
    """Return the calls of a statement, but for those of statements inside it."""
    heads = (e for e in ast.iter_child_nodes(statement) if not _is_body(e))
    return [call for head in heads for call in calls_in(head)]


def _written(statement: ast.stmt, names: set[str]) -> bool:
    if isinstance(statement, ast.Assign | ast.AugAssign):
        anew = isinstance(statement, ast.Assign)
        for target in statement.targets if anew else [statement.target]:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            written = [e for e in parts if not anew or isinstance(e, ast.Subscript)]
            if any(_is(each, names) for each in written):
                return True
    return any(_call_writes(call, names) for call in _calls(statement))


def _call_writes(call: ast.Call, names: set[str]) -> bool:
    name, function = called(call), call.func
    if (
        isinstance(function, ast.Attribute)
        and _is(function.value, names)
        and (name in _METHODS or (name.endswith("_") and not name.startswith("_")))
    ):
        return True
    if name in _FIRST and call.args and _is(call.args[0], names):
        return True
    if len(call.args) >= 2 and dotted(function) in (f"np.{name}", f"numpy.{name}"):
        last = call.args[-1]  # np.multiply(a, 2, a): the third argument is out
        if len(call.args) == 3 and isinstance(last, ast.Name) and _is(last, names):
            return name not in ("where", "clip")
    return any(each.arg == "out" and _is(each.value, names) for each in call.keywords)


def _aliases(statement: ast.stmt, names: set[str]) -> Iterator[str]:
    """Yield the names that a statement gives to the array or to a part of it."""
    if isinstance(statement, ast.Assign) and _is(statement.value, names):
        yield from (
            ast.unparse(target)
            for target in statement.targets
            if isinstance(target, ast.Name | ast.Attribute)
        )
    if isinstance(statement, ast.For) and _is(statement.iter, names):
        for each in ast.walk(statement.target):
            if isinstance(each, ast.Name):
                yield each.id


def _is(expression: ast.expr, names: set[str]) -> bool:
    """Is an expression the array, or a view of it?"""
    if ast.unparse(expression) in names:
        return True
    if isinstance(expression, ast.Subscript | ast.Starred):
        return _is(expression.value, names)
    if isinstance(expression, ast.Attribute):
        return expression.attr in ("T", "flat", "real", "mT") and _is(
            expression.value, names
        )
    if isinstance(expression, ast.Call):
        name, function = called(expression), expression.func
        if isinstance(function, ast.Attribute) and name in _VIEWS:
            return _is(function.value, names)
        return name in _PASS_ON and any(_is(each, names) for each in expression.args)
    return False


def _root(expression: ast.expr) -> ast.expr:
    """Return what an expression is a part of: ``data`` of ``data[0].reshape(2)``."""
    while True:
        if isinstance(expression, ast.Subscript):
            expression = expression.value
        elif (
            isinstance(expression, ast.Call)
            and isinstance(expression.func, ast.Attribute)
            and expression.func.attr in _VIEWS
        ):
            expression = expression.func.value
        else:
            return expression


def _parameters(
    function: ast.FunctionDef, call: ast.Call, names: set[str]
) -> Iterator[str]:
    own = parameters(function)
    if own[:1] == ["self"] and isinstance(call.func, ast.Attribute):
        own = own[1:]
    for argument, parameter in zip(call.args, own, strict=False):
        if _is(argument, names):
            yield parameter
    for keyword in call.keywords:
        if keyword.arg is not None and _is(keyword.value, names):
            yield keyword.arg
