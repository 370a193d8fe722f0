"""What to write instead of a line that writes in place, from its own syntax."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

from gradviz.diagnosis._words import code
from gradviz.diagnosis.edits.syntax import place
from gradviz.diagnosis.edits.writes import rewritten
from gradviz.program import History, Module, RawSite

_INPLACE = re.compile(r"\w*LU6?|\w*Dropout\w*|Hard\w+|Mish|Threshold")
"""Modules of the library with an ``inplace`` argument."""


def out_of_place(history: History, site: RawSite | None) -> str | None:
    """Return the statement at a site without its write: ``y = y + 1`` for ``y += 1``.

    None where no such line can be made from it, as for a module with ``inplace=True``.
    """
    with suppress(LookupError):
        source, _, statement = place(history, site)
        new = rewritten(source, statement)
        return None if new is None else " ".join(new.split())
    return None


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
