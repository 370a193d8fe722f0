"""Edits of the order of statements, and of the blocks that they stand in."""

from __future__ import annotations

import ast

from gradviz.dependence.modes import wrapped
from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError
from gradviz.diagnosis.edits.remedy import remedy, remedy_at
from gradviz.diagnosis.edits.syntax import (
    Place,
    Range,
    Source,
    called,
    dotted,
    is_module_name,
    place,
)
from gradviz.program import History, RawSite

_SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled")


@remedy
def moved(
    history: History,
    site: RawSite | None,
    to: RawSite | None,
    *,
    after: bool = False,
    beside: bool = False,
    safe: bool = False,
) -> Edit:
    """Move a statement before, or behind, another of its function.

    It goes to the one around that other which stands in the same block as itself, or
    in a block around it.
    """
    source, _, statement = place(history, site)
    other, _, target = place(history, to)
    if beside and source.block(statement) is not source.block(target):
        raise NoEditError("they stand in different blocks")
    if source is not other or source.scope(statement) is not source.scope(target):
        raise NoEditError("they stand in different functions")
    target = _beside(source, target, statement)
    draft = Draft(source)
    draft.move(statement, **{"after" if after else "before": target})
    return draft.edit(safe=safe)


def _beside(source: Source, target: ast.stmt, statement: ast.stmt) -> ast.stmt:
    """Return the statement around a target that stands in a block around another."""
    for each in source.around(statement):
        if isinstance(each, ast.stmt):
            found = source.statement_in(target, source.block(each))
            if found is not None:
                return found
        if each is source.scope(statement):
            break
    raise NoEditError("no block holds both")


@remedy_at
def left_out(found: Place) -> Edit:
    """Leave out a statement that is one call, or a loop that does nothing else."""
    source, _, statement = found
    whole, parent = statement, source.parent(statement)
    if isinstance(parent, ast.For) and parent.body == [statement]:
        whole = parent
    elif not isinstance(statement, ast.Expr) or not isinstance(
        statement.value, ast.Call
    ):
        raise NoEditError("the statement does more")
    return Draft(source).remove(whole).edit(safe=False)


@remedy
def called_at(history: History, site: RawSite | None, line: int | None = None) -> Edit:
    """Add the parentheses that a statement lacks: ``opt.step()`` for ``opt.step``."""
    source, _, statement = place(history, site, line)
    if not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call):
        raise NoEditError("it is called already")
    return Draft(source).append(statement.value, "()").edit(safe=True)


@remedy
def unblocked(
    history: History, site: RawSite | None, backward: RawSite | None = None
) -> Edit:
    """Let a block run with gradients: without its ``with torch.no_grad():``.

    Not where a loop runs passes through what the block computes once.
    """
    found = place(history, site)
    block = _switching(found)
    source = found.source
    if backward is not None:
        walked, around = place(history, backward), list(source.around(block))
        loops = walked.source.loops(walked.statement)
        apart = any(each not in around for each in loops)
        if apart and source.scope(walked.statement) is source.scope(block):
            raise NoEditError("one graph would be walked again and again")
    items = [each for each in block.items if _is_switch(each.context_expr)]
    if len(block.items) > 1:
        raise NoEditError("the block is of several things")
    call = items[0].context_expr
    if isinstance(call, ast.Call) and any(
        not isinstance(each, ast.Constant) for each in call.args
    ):
        raise NoEditError("a condition decides")
    return Draft(source).unwrap_block(block).edit(safe=False)


def _switching(found: Place) -> ast.With:
    for each in found.source.around(found.node):
        if isinstance(each, ast.With) and any(
            _is_switch(item.context_expr) for item in each.items
        ):
            return each
        if each is found.source.scope(found.node):
            break
    raise NoEditError("no block around it switches gradients off")


def _is_switch(node: ast.expr) -> bool:
    return called(node) in _SWITCHES


@remedy
def undecorated(history: History, site: RawSite | None, line: int | None) -> Edit:
    """Take the decorator away that stands on a line, or what wraps a function."""
    source = place(history, site, line).source
    for each in ast.walk(source.tree):
        if wrapped(each) and _is_switch(each.func) and each.lineno == line:
            bare = source.of(each.args[0])
            return Draft(source).replace(each, bare).edit(safe=False)
        for mark in getattr(each, "decorator_list", ()):
            if mark.lineno == line:
                lines = Range(mark.lineno, 1, (mark.end_lineno or mark.lineno) + 1, 1)
                return Draft(source).put(lines, "").edit(safe=False)
    raise NoEditError("there is no such decorator")


@remedy_at
def under_no_grad(found: Place) -> Edit:
    """Put a statement under ``torch.no_grad()``."""
    source, _, statement = found
    if isinstance(statement, ast.Return | ast.FunctionDef | ast.ClassDef):
        raise NoEditError("it is no statement to be put into a block")
    draft = Draft(source).wrap_block([statement], "with torch.no_grad():")
    return draft.edit(safe=True)


@remedy_at
def bound_to_operand(found: Place) -> Edit:
    """Bind the result of a statement to the name that it reads: ``x = x.relu()``."""
    value = found.statement.value if isinstance(found.statement, ast.Expr) else None
    name = dotted(_first_operand(value))
    if value is None or not name:
        raise NoEditError("it reads no name")
    draft = Draft(found.source).replace(value, f"{name} = {found.source.of(value)}")
    return draft.edit(safe=False)


def _first_operand(node: ast.expr | None) -> ast.expr | None:
    """Return what an expression begins with: ``x`` of ``F.relu(x.mean(0) / 2)``."""
    while isinstance(node, ast.BinOp | ast.Call):
        if isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node.func, ast.Attribute) and not (
            is_module_name(node.func.value)
            or dotted(node.func.value) == "self"
            or node.func.attr == "apply"  # of a Function
        ):
            node = node.func.value
        else:
            node = node.args[0] if node.args else None
    return node
