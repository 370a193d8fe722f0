"""GV805: a tensor kept as an attribute of ctx was changed before backward used it.

What it does
    Finds tensors on ``ctx`` whose version moved between ``forward`` and ``backward``.
Why is this bad
    ``ctx.save_for_backward`` notices such a change and raises; an attribute does not:
    the gradient is silently wrong. An output kept this way is also a reference cycle.
Example
    ``ctx.y = y`` in ``forward``, and ``y.mul_(0)`` before ``backward()``
Use instead
    ``ctx.save_for_backward(y)``, and ``(y,) = ctx.saved_tensors``
When it stays quiet
    Nobody writes the tensor before the backward pass.
References
    pytorch/pytorch#25340.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from gradviz.diagnosis.custom_functions import custom_nodes, place
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import ContextTensor, CustomFunction, History, Node, RawSite
from gradviz.program.places import first_line


@rule("GV805", "custom-fn-tensor-on-ctx", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the attributes that changed."""
    for node, custom in custom_nodes(history):
        for kept in custom.attributes:
            if kept.version_now != kept.value.version:
                yield _hit(history, node, custom, kept)


def _hit(
    history: History, node: Node, custom: CustomFunction, kept: ContextTensor
) -> Hit:
    site, line = _assignment(history, custom, kept.name)
    writes = history.writes(kept.value.storage, after=node.call or -1)
    write = writes[0][0] if writes else None
    who = f"{history.quoted(write.site)}" if write is not None else "an in-place call"
    return Hit(
        f"`{custom.name}.backward` computes with changed values, so its gradient is "
        f"wrong: `ctx.{kept.name}` is the tensor itself, and {who} overwrites it in "
        "place before the backward pass.",
        culprit=site,
        line=line,
        fix=f"{_copied(history, site, line)} Or run {who} after `backward()`.",
        symptom=write.site if write is not None else node.site,
        related=(
            Related("overwritten here", write.site if write is not None else None),
            Related("Function applied here", node.site),
        ),
        nodes=(node.key,),
        tensors=(kept.value.tensor,),
    )


def _copied(history: History, site: RawSite | None, line: int | None) -> str:
    """Return the assignment as one that keeps a copy."""
    text = (
        history.places.source_line(site[0].co_filename, line) if site and line else ""
    )
    with suppress(SyntaxError):
        match ast.parse(text.strip()).body:
            case [ast.Assign([ast.Attribute() as target], ast.Name(value))]:
                return f"Keep a copy: `{ast.unparse(target)} = {value}.clone()`."
            case _:
                pass
    return "Keep a copy on `ctx`, by `.clone()`."


def _assignment(
    history: History, custom: CustomFunction, name: str
) -> tuple[RawSite | None, int | None]:
    """Return the line that sets ``ctx.name``, in forward or setup_context."""
    code = custom.forward or custom.backward
    if code is None:
        return None, None
    for function in _siblings(history.places.tree(code.co_filename), code):
        for each in own_nodes(function):
            if (
                isinstance(each, ast.Attribute)
                and each.attr == name
                and isinstance(each.ctx, ast.Store)
            ):
                return place(history, code, each.lineno)
    return (code, 0), None


def _siblings(tree: ast.Module | None, code: object) -> list[ast.FunctionDef]:
    """Return the methods of the class that a method's code belongs to."""
    first = getattr(code, "co_firstlineno", 0)
    for each in ast.walk(tree) if tree is not None else ():
        if isinstance(each, ast.ClassDef):
            methods = [m for m in each.body if isinstance(m, ast.FunctionDef)]
            if any(m.lineno <= first + 9 and first_line(m) == first for m in methods):
                return methods
    return []
