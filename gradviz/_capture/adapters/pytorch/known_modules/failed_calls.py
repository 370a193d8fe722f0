"""Finds the call of PyTorch's that failed where our mode was off, from its error.

The frames of an error still hold what stood under the names of the failing expression.
What stood under none, as a result in the middle of one, is gone.
"""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Iterator
from itertools import islice
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from gradviz._capture.names.tensors import locals_of

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "truediv",
    ast.Pow: "pow",
}
_PLAIN = (int, float, bool, str, type(None))


class FailedCall(NamedTuple):
    """A function of PyTorch's with what it was given, and the frame that called it."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    frame: FrameType


def failed_call(torch: Any, error: BaseException) -> FailedCall | None:
    """Return the outermost call of an error's frames that our mode would have seen."""
    overridable, trace = torch.overrides.get_testing_overrides(), error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        expression = _expression(frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
        try:
            found = None if expression is None else _call(torch, expression, frame)
            if found is not None and found.function in overridable:
                return found
        except (LookupError, TypeError):  # an operand without a name; nothing hashable
            continue
    return None


def _expression(code: CodeType, lasti: int) -> ast.expr | None:
    """Return what an instruction computes, where its source is known."""
    span = next(islice(code.co_positions(), lasti // 2, None), (None,) * 4)
    line, last, start, end = span
    if line is None or last is None or start is None or end is None:
        return None
    source = linecache.getlines(code.co_filename)
    lines = [each.encode() for each in source[line - 1 : last]]
    if len(lines) != last - line + 1:
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        text = b"".join(lines).decode()
        return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _call(torch: Any, expression: ast.expr, frame: FrameType) -> FailedCall | None:
    """Return what an expression calls; LookupError where an operand has no name."""
    tensor = torch.Tensor

    def value(node: ast.expr) -> Any:
        return _value(node, frame, torch)

    match expression:
        case ast.Call(func=func, args=args, keywords=keywords):
            given: list[Any] = [value(each) for each in args]
            named = {each.arg or "": value(each.value) for each in keywords}
            if "" in named:
                raise LookupError
            if isinstance(func, ast.Attribute):
                owner = value(func.value)
                if isinstance(owner, tensor):
                    method = getattr(tensor, func.attr, None)
                    return FailedCall(method, (owner, *given), named, frame)
            return FailedCall(value(func), tuple(given), named, frame)
        case ast.BinOp(left=left, op=operator, right=right):
            name = _OPERATORS.get(type(operator), "")
            one, other, swapped = value(left), value(right), ""
            if not isinstance(one, tensor):
                one, other, swapped = other, one, "r"
            method = getattr(tensor, f"__{swapped}{name}__", None)
            return FailedCall(method, (one, other), {}, frame)
        case ast.Subscript(value=of, slice=key):
            given = [value(of), value(key)]
            return FailedCall(tensor.__getitem__, tuple(given), {}, frame)
        case _:
            return None


def _value(node: ast.expr, frame: FrameType, torch: Any) -> Any:
    """Return what is under a name, without running any code of the user's."""
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return -node.operand.value  # type: ignore[operator,union-attr]
        case ast.Tuple() | ast.List():
            kind = tuple if isinstance(node, ast.Tuple) else list
            return kind([_value(each, frame, torch) for each in node.elts])
        case ast.Name(id=name):
            for names in (locals_of(frame), frame.f_globals, vars(builtins)):
                if name in names:
                    return names[name]
        case ast.Attribute(value=of, attr=name):
            owner = _value(of, frame, torch)
            for names in _attributes(owner, torch):
                if name in names:
                    return names[name]
            if isinstance(owner, torch.Tensor) and name in ("T", "mT"):
                return getattr(owner, name)
        case _:
            pass
    raise LookupError


def _attributes(owner: Any, torch: Any) -> Iterator[dict[str, Any]]:
    if isinstance(owner, ModuleType):
        yield vars(owner)
    elif isinstance(owner, torch.nn.Module):
        own = vars(owner)
        yield own
        for kind in ("_parameters", "_buffers", "_modules"):
            yield own.get(kind, {})
