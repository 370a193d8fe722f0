"""A module is given an argument that it never reads, and its part takes a default.

What it does
    Finds arguments of a ``forward`` that the program gives and that nothing in it
    reads, where a module that it calls has a parameter of the same name, left at its
    default.

Why is this bad
    What is given has no effect, without an error: a mask hides nothing, a weight that
    is scheduled stays what the default is.

Example
    ::

        def forward(self, x, mask=None):
            return self.attention(x)

Use instead
    ::

        def forward(self, x, mask=None):
            return self.attention(x, mask=mask)

When it stays quiet
    Arguments that are read anywhere in the function, or that are given as the default
    itself or ``None``; parts without such a parameter.

References
    https://docs.python.org/3/tutorial/controlflow.html#default-argument-values
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.bindings import all_parameters, definition
from gradviz.diagnosis.decisions.frames import Frame, Spot, argument, call_in, spot
from gradviz.diagnosis.decisions.sites import sources_of
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, ModuleCall, RawSite

_EVERYTHING = frozenset(["locals", "vars"])


@rule("GV698", "argument-not-handed-on", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per call of a part that leaves such an argument out."""
    told, kinds = set[tuple[str, RawSite | None]](), history.once(_Forwards).kinds
    for inner in history.of(ModuleCall):
        outer = history.at(inner.parent)
        if not isinstance(outer, ModuleCall):
            continue
        kind = kinds.get(outer.module)
        if kind is None or (kind, inner.site) in told:
            continue
        told.add((kind, inner.site))
        mine, parts = _forward(history, outer), _forward(history, inner)
        for name in _unread(mine) if mine and parts else ():
            left, given = _given(history, inner, name), _given(history, outer, name)
            if left is not None and left[1] and given is not None and not given[1]:
                yield _hit(history, outer, inner, name, given[0])


class _Forwards:
    """Definitions of forward by the class of a module, each looked up once.

    A long run forgets modules that are gone: their class is not known.
    """

    def __init__(self, history: History) -> None:
        modules = history.program.modules
        self.kinds = {key: module.kind for key, module in modules.items()}
        self.sources = sources_of(history)
        self._of: dict[str, Spot | None] = {}

    def of(self, module: int) -> Spot | None:
        kind = self.kinds.get(module)
        if kind is not None and kind not in self._of:
            self._of[kind] = next(self._found(kind), None)
        return None if kind is None else self._of[kind]

    def _found(self, kind: str) -> Iterator[Spot]:
        for source in self.sources:
            owner = definition(source, kind)
            for each in owner.body if isinstance(owner, ast.ClassDef) else ():
                if isinstance(each, ast.FunctionDef) and each.name == "forward":
                    yield Spot(source, each)


def _forward(history: History, event: ModuleCall) -> Spot | None:
    """Return the definition of a module's forward, if one file of the run has it."""
    return history.once(_Forwards).of(event.module)


def _unread(forward: Spot) -> list[str]:
    """Return the parameters that a function never reads."""
    function = forward.node
    assert isinstance(function, ast.FunctionDef)
    inside = [each for one in function.body for each in ast.walk(one)]
    read = {each.id for each in inside if isinstance(each, ast.Name)}
    if not _EVERYTHING.isdisjoint(read):
        return []
    return [name for name in all_parameters(function)[1:] if name not in read]


def _given(
    history: History, event: ModuleCall, name: str
) -> tuple[ast.AST, bool] | None:
    """Return what a call gives a parameter of the module, and if it is the default.

    None where the module has no such parameter, or it is not plain to see.
    """
    forward = _forward(history, event)
    called = spot(history, event.site, event.stack)
    call = None if called is None else call_in(called)
    if forward is None or called is None or call is None:
        return None
    frame = Frame(call, called.source, called.frame)
    function = forward.node
    assert isinstance(function, ast.FunctionDef)
    if name not in all_parameters(function):
        return None
    found = argument(Spot(forward.source, function.body[0], frame), function, name)
    if found is None:
        return None
    defaults = [*function.args.defaults, *function.args.kw_defaults]
    same = [ast.dump(each) for each in defaults if each is not None]
    none = isinstance(found.node, ast.Constant) and found.node.value is None
    return found.node, none or (
        isinstance(found.node, ast.Constant) and ast.dump(found.node) in same
    )


def _hit(
    history: History, outer: ModuleCall, inner: ModuleCall, name: str, given: ast.AST
) -> Hit:
    kinds = history.once(_Forwards).kinds
    whole, part = kinds[outer.module], kinds[inner.module]
    return Hit(
        f"{history.quoted(outer.site)} gives `{name}={ast.unparse(given)}`, which "
        f"{whole}.forward never reads: {history.quoted(inner.site)} leaves `{name}` of "
        f"{part} at its default, so what is given has no effect.",
        inner.site,
        f"Hand it on: `{name}={name}`.",
        symptom=outer.site,
        related=(Related("given here", outer.site),),
        edit=with_keyword(inner.site, name, name),
        certainty=0.7,
    )
