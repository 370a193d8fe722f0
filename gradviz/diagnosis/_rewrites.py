"""What to write instead of a line that writes in place, from its own syntax."""

from __future__ import annotations

import ast
import re

from gradviz.diagnosis._words import code
from gradviz.program import History, Module, RawSite

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}

_INPLACE = re.compile(r"\w*LU6?|\w*Dropout\w*|Hard\w+|Mish|Threshold")
"""Modules of the library with an ``inplace`` argument."""


def out_of_place(history: History, site: RawSite | None) -> str | None:
    """Return the statement at a site without its write: ``y = y + 1`` for ``y += 1``.

    None where no such line can be made from it, as for a module with ``inplace=True``.
    """
    statement = history.places.statement(site)
    if isinstance(statement, ast.AugAssign):
        return _augmented(statement)
    if isinstance(statement, ast.Expr | ast.Assign | ast.Return):
        call = statement.value
        if isinstance(call, ast.Call):
            return _method(statement, call)
    return None


def _augmented(statement: ast.AugAssign) -> str | None:
    operator = _OPERATORS.get(type(statement.op))
    if operator is None or not isinstance(statement.target, ast.Name):
        return None
    name, value = statement.target.id, ast.unparse(statement.value)
    if isinstance(statement.value, ast.BinOp | ast.IfExp | ast.Lambda):
        value = f"({value})"
    return f"{name} = {name} {operator} {value}"


def _method(
    statement: ast.Expr | ast.Assign | ast.Return, call: ast.Call
) -> str | None:
    """Rewrite ``x.mul_(2)`` to ``x = x.mul(2)``, also behind ``y =`` and ``return``."""
    function = call.func
    if not (
        isinstance(function, ast.Attribute)
        and function.attr.endswith("_")
        and not function.attr.startswith("__")
    ):
        return None
    receiver = ast.unparse(function.value)
    if receiver.split(".")[-1] in ("init", "torch", "F", "functional"):
        return None
    arguments = ", ".join(
        [ast.unparse(each) for each in call.args]
        + [f"{each.arg}={ast.unparse(each.value)}" for each in call.keywords]
    )
    plain = function.attr.removesuffix("_")
    if plain in ("zero", "fill"):
        filled = "zeros" if plain == "zero" else "full"
        after = f", {arguments}" if arguments else ""
        rewritten = f"torch.{filled}_like({receiver}{after})"
    elif plain == "copy":
        rewritten = arguments
    else:
        rewritten = f"{receiver}.{plain}({arguments})"
    if isinstance(statement, ast.Return):
        return f"return {rewritten}"
    if isinstance(statement, ast.Assign):
        return f"{ast.unparse(statement.targets[0])} = {rewritten}"
    if not isinstance(function.value, ast.Name | ast.Attribute):
        return None  # of h[0].mul_(2), nothing would keep the result
    return f"{receiver} = {rewritten}"


def instead(
    history: History, site: RawSite | None, module: Module | None = None
) -> str:
    """Return a sentence that says how to do without the write at a site.

    ``module`` is the innermost one that the write happened in.
    """
    rewritten = out_of_place(history, site)
    if rewritten is not None:
        return f"Write `{rewritten}`."
    text = code(history, site)
    if "inplace" in text:
        return "Leave out `inplace=True`."
    statement = history.places.statement(site)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    for target in targets:
        if isinstance(target, ast.Subscript):
            name = ast.unparse(target.value)
            return (
                f"Write to a copy, `{name} = {name}.clone()` just before, or build the "
                "result without a write: torch.where, masked_fill, torch.cat or "
                "torch.stack."
            )
    if module is not None and _INPLACE.fullmatch(module.kind):
        return f"Make the {module.kind} with `inplace=False`."
    return (
        "Use the form of this operation that returns a new tensor (without `_` and "
        "without `inplace=True`), or write to a clone()."
    )
