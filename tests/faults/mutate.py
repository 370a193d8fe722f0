"""Small faults for Python sources: another operator, constant, condition or result."""

from __future__ import annotations

import ast
import random
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.imports import PACKAGES
from tools.stages import ROOT

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Fault:
    """One place in a file, and what to write there instead."""

    file: Path  # relative to the root
    line: int  # both from 1
    start: int  # in bytes, from the beginning of the file
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before!r} became {self.after!r}"

    @contextmanager
    def planted(self, folder: Path) -> Generator[None, None, None]:
        """Write the fault into a copy of the tree; take it out again."""
        path = folder / self.file
        source = path.read_bytes()
        path.write_bytes(
            source[: self.start] + self.after.encode() + source[self.end :]
        )
        try:
            yield
        finally:
            path.write_bytes(source)


def plant(seed: int, count: int) -> Iterator[Fault]:
    """Yield faults, as many for one package as for the other, from all over it."""
    chance = random.Random(seed)
    files = {
        package: sorted(path.relative_to(ROOT) for path in folder.rglob("*.py"))
        for package, folder in PACKAGES.items()
    }
    for number in range(count):
        package = list(files)[number % len(files)]
        found: list[Fault] = []
        while not found:  # files that hold only names and tables have none
            found = list(faults_in(chance.choice(files[package])))
        yield chance.choice(found)


def faults_in(file: Path) -> Iterator[Fault]:
    """Yield the faults that can be planted in a file, each within a function."""
    source = (ROOT / file).read_bytes()
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node, other in _others(function):
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
                before = source[start:end].decode()
                after = f"({ast.unparse(other)})"
                yield Fault(file, node.lineno, start, end, before, after)


def _others(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield expressions of a function's body, each with what is to stand there."""
    for statement in function.body:
        if isinstance(statement, ast.Expr):
            continue  # a docstring, or a call whose arguments come below
        for node in _inside(statement):
            match node:
                case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                    yield node, ast.BinOp(left, _other(op), right)
                case ast.Compare(left, [op], rest) if type(op) in _OPERATORS:
                    yield node, ast.Compare(left, [_other(op)], rest)
                case ast.BoolOp(op, values):
                    yield node, ast.BoolOp(_other(op), values)
                case ast.If(test=test) | ast.IfExp(test=test):
                    yield test, ast.UnaryOp(ast.Not(), test)
                case ast.Constant(bool() as value):
                    yield node, ast.Constant(not value)
                case ast.Constant(int() as value):
                    yield node, ast.Constant(value + 1)
                case ast.Return(ast.expr() as value) if not _is_none(value):
                    yield value, ast.Constant(None)
                case _:
                    pass


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree without inner functions, which are seen for themselves.

    Annotations never run, and Python 3.11 does not place the parts of f-strings.
    """
    yield node
    for child in ast.iter_child_nodes(node):
        annotation = isinstance(node, ast.AnnAssign) and child is node.annotation
        if not annotation and not isinstance(child, ast.JoinedStr | ast.FunctionDef):
            yield from _inside(child)


def _other(operator: Any) -> Any:
    return _OPERATORS[type(operator)]()


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
