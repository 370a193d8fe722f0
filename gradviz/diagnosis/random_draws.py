"""Random numbers: which calls draw them, and where a function's source does."""

from __future__ import annotations

import ast
from types import CodeType

from gradviz.dependence.draws import DRAWS
from gradviz.diagnosis.custom_functions import own_nodes, place
from gradviz.program import Call, History, Opaque, RawSite


def function_of_call(call: Call) -> CodeType | None:
    """Return the code of the function that was handed to a call."""
    for each in (*call.arguments, *call.keywords.values()):
        if isinstance(each, Opaque) and each.code is not None:
            return each.code
    return None


def foreign_draw(
    history: History, code: CodeType | None, also: tuple[str, ...] = ()
) -> tuple[RawSite | None, int | None]:
    """Return the line in which a function draws from Python's or NumPy's generator.

    ``also`` names modules whose own drawing functions count as well.
    """
    function = history.places.function(code) if code is not None else None
    if code is None or not isinstance(function, ast.FunctionDef):
        return None, None
    for each in own_nodes(function):
        name = ast.unparse(each.func) if isinstance(each, ast.Call) else ""
        module, _, function_name = name.rpartition(".")
        own = module in also and function_name in DRAWS
        if own or _is_foreign(name):
            return place(history, code, getattr(each, "lineno", code.co_firstlineno))
    return None, None


def _is_foreign(name: str) -> bool:
    first = name.partition(".")[0]
    numpy = first in ("np", "numpy") and ".random." in name
    return first == "random" or numpy or name in ("urandom", "os.urandom", "rng.random")
