"""Random numbers: which calls draw them, and where a function's source does."""

from __future__ import annotations

import ast
from types import CodeType

from gradviz.dependence.draws import DRAWS
from gradviz.diagnosis.decisions.bindings import definition, own_nodes
from gradviz.diagnosis.decisions.choice import choice
from gradviz.diagnosis.decisions.frames import Spot, last_name
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.syntax import Source, dotted, source_of
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

    Its own, or one of a function of the same file that it calls. ``also`` names modules
    whose own drawing functions count as well.
    """
    function = history.places.function(code) if code is not None else None
    source = None if code is None else source_of(history, code.co_filename)
    if source is None or not isinstance(function, ast.FunctionDef):
        return None, None
    waiting, met, names = [function], {function.name}, _imported(source)
    for each in waiting:
        for node in own_nodes(each):
            if not isinstance(node, ast.Call):
                continue
            if _draws(source, node, also, names):
                return site_of(history, Spot(source, node)), node.lineno
            inner = definition(source, last_name(node.func))
            if isinstance(inner, ast.FunctionDef) and inner.name not in met:
                met.add(inner.name)
                waiting.append(inner)
    return None, None


def _draws(
    source: Source, call: ast.Call, also: tuple[str, ...], names: dict[str, str]
) -> bool:
    """Tell whether a call draws; ``names`` are those of imports, with their own."""
    module, _, function = ast.unparse(call.func).rpartition(".")
    if module in also and function in DRAWS:
        return True
    made = choice(Spot(source, call.func.value if module else call.func))  # type: ignore[attr-defined]
    generator = made.node.func if isinstance(made.node, ast.Call) else None
    for each in (call.func, generator):
        first, _, rest = dotted(each).partition(".")
        name = f"{names.get(first, first)}.{rest}".rstrip(".")
        if name.startswith(("random.", "numpy.random.")) or name == "os.urandom":
            return True
    return False


def _imported(source: Source) -> dict[str, str]:
    """Return the full names of what a file imports, by the names that it has there."""
    found = dict[str, str]()
    for each in ast.walk(source.tree):
        if isinstance(each, ast.Import):
            found |= {one.asname: one.name for one in each.names if one.asname}
        elif isinstance(each, ast.ImportFrom):
            for one in each.names:
                found[one.asname or one.name] = f"{each.module}.{one.name}"
    return found
