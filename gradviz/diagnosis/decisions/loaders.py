"""Who made the loader of a loop, and who chose how it puts batches together."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradviz.diagnosis.decisions.choice import choice, path
from gradviz.diagnosis.decisions.frames import Spot, last_name, spots
from gradviz.program import Call, History

_DEEPEST = 4  # wrappers around a loader: enumerate, tqdm, prepare


def loader_of(history: History, call: Call) -> Spot | None:
    """Return the ``DataLoader(...)`` in whose loop a call was made, by the loader.

    That is the one which the head of a loop walks, the first of several.
    """
    for _, where in spots(history, call.frames):
        statement = where.source.statement(where.node)
        asks = isinstance(where.node, ast.Call) and last_name(where.node.func) == "next"
        walked = statement.iter if isinstance(statement, ast.For) else None
        walked = where.node if walked is None and asks else walked
        if walked is not None:
            found = _made(where.at(walked), _DEEPEST)
            is_clear = isinstance(path(where.at(walked))[-1].node, ast.Call)
            if found:
                return found[0]
            return None if is_clear else _only(where)
    return None


def _made(where: Spot, depth: int) -> list[Spot]:
    last = path(where)[-1]
    if not isinstance(last.node, ast.Call):
        return []
    if _is_loader(last.node):
        return [last]
    inner = last.node.args if depth else []
    return [each for one in inner for each in _made(last.at(one), depth - 1)]


def _only(where: Spot) -> Spot | None:
    """Return the loader of a file that makes a single one."""
    made = [each for each in ast.walk(where.source.tree) if _is_loader(each)]
    return Spot(where.source, made[0]) if len(made) == 1 else None


def _is_loader(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func).endswith("DataLoader")


def chosen(loader: Spot, name: str, values: Collection[object]) -> Spot:
    """Return who gave a loader a setting one of these values, or else the loader.

    Where its own line does, that is the loader too.
    """
    call = loader.node
    for each in call.keywords if isinstance(call, ast.Call) else ():
        if each.arg == name:
            found = choice(loader.at(each.value))
            literal = found.node
            if isinstance(literal, ast.Constant) and literal.value in values:
                return loader if literal is each.value else found
    return loader
