"""Which statements put a value away, in a list, a dict or a queue."""

from __future__ import annotations

import ast

_ADDING = ("append", "appendleft", "add", "insert", "put", "setdefault")


def keeps(statement: ast.stmt, names: set[str] | None) -> bool:
    """Return whether a statement puts something that has one of these names away.

    Without names, whatever it is.
    """
    kept: list[ast.expr] = []
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr in _ADDING:
            kept = statement.value.args
    elif (
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.value, ast.List | ast.Tuple)
    ) or (
        isinstance(statement, ast.Assign)
        and any(isinstance(each, ast.Subscript) for each in statement.targets)
    ):
        kept = [statement.value]
    return any(names is None or _holds(each, names) for each in kept)


def _holds(kept: ast.expr, names: set[str]) -> bool:
    """Return whether an expression is one of these names, or a tuple with one."""
    if isinstance(kept, ast.Tuple | ast.List):
        return any(_holds(each, names) for each in kept.elts)
    if isinstance(kept, ast.Dict):
        return any(_holds(each, names) for each in kept.values)
    return isinstance(kept, ast.Name | ast.Attribute) and ast.unparse(kept) in names
