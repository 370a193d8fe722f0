"""Edits of dimensions and shapes: which one a function runs over, and of losses."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradviz.dependence.flow import words
from gradviz.diagnosis.edits.calls import call_at, operand_of
from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError, only
from gradviz.diagnosis.edits.remedy import remedy_at
from gradviz.diagnosis.edits.syntax import Place, is_module_name, keyword, names_in


@remedy_at
def over_dimension(found: Place, dim: int) -> Edit:
    """Let a function or layer run over another dimension: ``dim=1``."""
    call = call_at(found, _OVER)
    draft = Draft(found.source)
    whole = [each for each in call.args if _is_whole(each)]
    if keyword(call, "dim") is None and len(whole) == 1:
        draft.replace(whole[0], str(dim))
    else:
        draft.set_keyword(call, "dim", str(dim))
    return draft.edit(safe=False)


_OVER = words(
    "softmax log_softmax Softmax LogSoftmax softmin gumbel_softmax argmax max mean sum "
    "amax amin logsumexp"
)


def _is_whole(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def operands(found: Place) -> Sequence[ast.expr]:
    """Return what an operation is given, in its order."""
    node = found.node
    if isinstance(node, ast.Expr | ast.Assign | ast.Return) and node.value is not None:
        node = node.value
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call) and not any(
        isinstance(each, ast.Starred) for each in node.args
    ):
        alone = len(node.args) == 1 and not node.keywords
        if alone and isinstance(node.func, ast.Attribute):
            return [node.func.value, *node.args]  # ``a.eq(b)``
        return node.args
    raise NoEditError("its operands are not written here")


@remedy_at
def operand_followed_by(found: Place, number: int, suffix: str) -> Edit:
    """Let a method follow one of the operands of an operation: ``.squeeze(-1)``."""
    given = operands(found)
    if number >= len(given):
        raise NoEditError("that operand is not written here")
    read, whole = names_in(given[number]), names_in(found.statement)
    if not isinstance(given[number], ast.Name) and any(
        whole.count(each) > read.count(each) for each in read
    ):
        raise NoEditError("the statement computes with it elsewhere, too")
    return Draft(found.source).append(given[number], suffix).edit(safe=False)


@remedy_at
def flattened_first(found: Place) -> Edit:
    """Take a norm over the second dimension over all behind the first."""
    call = call_at(found)
    dim = keyword(call, "dim")
    given = dim.value if dim is not None else (call.args[-1] if call.args else None)
    if given is None or ast.unparse(given) not in ("1", "(1,)", "-1", "[1]"):
        raise NoEditError("it is not taken over the second dimension")
    return Draft(found.source).append(operand_of(found), ".flatten(1)").edit(safe=False)


@remedy_at
def argument_followed_by(found: Place, text: str, suffix: str) -> Edit:
    """Let a method follow the argument of a call that is written so."""
    call = call_at(found)
    given = [*call.args, *(each.value for each in call.keywords)]
    nodes = [each for each in given if found.source.of(each) == text]
    node = only(nodes, "it is not given once, and as it is")
    return Draft(found.source).append(node, suffix).edit(safe=False)


@remedy_at
def first_size(found: Place, size: int) -> Edit:
    """Give a layer another input size: ``nn.Linear(72, 5)``."""
    call = call_at(found, ("Linear",))
    given = keyword(call, "in_features")
    node = given.value if given is not None else (call.args or [None])[0]
    if not isinstance(node, ast.Constant):
        raise NoEditError("the size is computed")
    return Draft(found.source).replace(node, str(size)).edit(safe=False)


@remedy_at
def without_index(found: Place) -> Edit:
    """Leave an index out: ``net(x)`` for ``net(x)[0]``."""
    node = found.node
    if not isinstance(node, ast.Subscript):
        raise NoEditError("it is no index")
    source = found.source
    rest = source.range(node.value).end.upto(source.range(node))
    if not source.between(rest).startswith("["):
        raise NoEditError("its operand stands in brackets of its own")
    return Draft(source).put(rest, "").edit(safe=False)


@remedy_at
def permuted(found: Place, order: Sequence[int]) -> Edit:
    """Move dimensions in the place of a view: ``.permute(0, 2, 1)``."""
    return _permuted(found, order, "")


@remedy_at
def moved_first(found: Place, order: Sequence[int]) -> Edit:
    """Move dimensions before a view: ``x.permute(0, 2, 1).reshape(-1, classes)``."""
    call = call_at(found, _VIEWS)
    given = ", ".join(found.source.of(each) for each in (*call.args, *call.keywords))
    return _permuted(found, order, f".reshape({given})")


_VIEWS = ("view", "reshape")


def _permuted(found: Place, order: Sequence[int], then: str) -> Edit:
    """Put the tensor that a view is of, with its dimensions moved, in its place."""
    call, draft = call_at(found, _VIEWS), Draft(found.source)
    function = call.func
    if not isinstance(function, ast.Attribute) or is_module_name(function.value):
        raise NoEditError("it is no method of the tensor")
    moved = f".permute({', '.join(map(str, order))})"
    text = f"{draft.operand(function.value)}{moved}{then}"
    return draft.replace(call, text).edit(safe=False)
