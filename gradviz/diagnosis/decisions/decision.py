"""The decision behind an event of a run: its line, and how it led to the event."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from gradviz.dependence.learning import once
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.bindings import definition, of_name, own_nodes
from gradviz.diagnosis.decisions.choice import method_called, path, subjects
from gradviz.diagnosis.decisions.frames import Function, Spot, Turn, last_name, spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.decisions.turns import of_call, of_module
from gradviz.program import (
    Call,
    History,
    Module,
    ModuleCall,
    RawSite,
    Value,
)

Frames = tuple[RawSite, ...]  # innermost first


@dataclass(frozen=True, slots=True)
class Decision:
    """A line of the program, and whether another one led to it."""

    site: RawSite | None
    text: str = ""  # the expression that was chosen
    made: RawSite | None = (
        None  # what was made or called by it, where that is elsewhere
    )
    line: int | None = None  # where no instruction marks the expression alone

    @property
    def is_elsewhere(self) -> bool:
        """Tell whether another line chose than the one that calls or constructs."""
        return self.made is not None

    def words(self, history: History) -> str:
        """Return " It was chosen by `nn.Sigmoid` in line 20.", or nothing."""
        if self.made is None:
            return ""
        return (
            f" `{history.text(self.made)}` in {history.line(self.made)} made it; "
            f"`{self.text}` in {history.line(self.site)} chose it."
        )


def of_layer(history: History, module: Module) -> Decision:
    """Return the line that chose the class of a module.

    That is its constructor's, or what a helper, a table or a branch around it was given
    to choose by: ``make_block(16, 1, nn.Sigmoid)``, ``{"loss": "nll"}``.
    """
    turn = of_module(history, module)
    return _called(history, module.site, module.stack, module.kind, turn)


def of_function(history: History, call: Call, kinds: Collection[str]) -> Decision:
    """Return the line that chose to compute something: a layer's, or a function's.

    ``kinds`` are the classes of layers that do nothing else.
    """
    module = module_around(history, call.module)
    if module is not None and module.kind in kinds and module.site is not None:
        return of_layer(history, module)
    return _called(history, call.site, call.stack, "", of_call(history, call))


def of_argument(
    history: History, module: Module, place: int, names: Collection[str]
) -> Decision:
    """Return the line that chose what a constructor was given.

    By its place among the arguments, or by name. The constructor's own, where it is
    spelt out there or cannot be followed.
    """
    known, key = _known(history), (module.key, place, *names)
    if key not in known:
        known[key] = of_given(history, module.site, module.stack, place, names)
    return known[key]


def of_keyword(history: History, call: Call, name: str) -> Decision:
    """Return the line that chose a keyword of a call, where it made it or before."""
    return of_given(history, call.site, call.stack, None, (name,))


def of_unpacked(history: History, call: Call) -> Decision:
    """Return the line that put together what a call is given as ``*values``."""
    where = spot(history, call.site, call.stack)
    given = getattr(where and where.node, "args", ())
    unpacked = [each.value for each in given if isinstance(each, ast.Starred)]
    if where is None or len(unpacked) != 1:
        return Decision(call.site)
    return decided(history, path(where.at(unpacked[0]))[-1], call.site)


def of_option(history: History, call: Call, name: str) -> Decision:
    """Return the line that chose an option of a call, or that could have, and did not.

    A helper that hands its own options on leaves it to who calls it; so does one whose
    default is None.
    """
    where = first = spot(history, call.site, call.stack)
    while where is not None and isinstance(where.node, ast.Call):
        said = next((e.value for e in where.node.keywords if e.arg == name), None)
        if said is not None:
            way = path(where.at(said))
            last, left = way[-1].node, way[-2].frame if len(way) > 1 else None
            if not isinstance(last, ast.Constant) or last.value is not None:
                is_own = len(way) == 1 and where is first
                return (
                    Decision(call.site)
                    if is_own
                    else decided(history, way[-1], call.site)
                )
        else:
            left = where.frame if _hands_on(where) else None
        caller = None if left is None else left.caller
        if caller is None:
            break
        where = caller
    if where is None or where is first:
        return Decision(call.site)
    return decided(history, where, call.site)


def _hands_on(where: Spot) -> bool:
    """Tell whether a call is given all the options of the function around it."""
    call, scope = where.node, where.scope
    kept = scope.args.kwarg if isinstance(scope, Function) else None
    tables = [each.value for each in getattr(call, "keywords", ()) if each.arg is None]
    names = [each.id for each in tables if isinstance(each, ast.Name)]
    return kept is not None and kept.arg in names


def of_given(
    history: History,
    site: RawSite | None,
    stack: Frames,
    place: int | None,
    names: Collection[str],
) -> Decision:
    """Return the line that chose an argument of the call at a site: see `given`."""
    where = spot(history, site, stack)
    found = None if where is None else given(where, place, names)
    if where is None or found is None:
        return Decision(site)
    way = _of_elements(path(found))
    here = any(each is found.node for each in ast.walk(where.node))
    return Decision(site) if here and len(way) == 1 else decided(history, way[-1], site)


def _of_elements(way: list[Spot]) -> list[Spot]:
    """Lead a way on that went through a loop's variable: to each element's expression.

    That is the one of a comprehension, where the loop walks what this gives.
    """
    last = way[-1]
    if not isinstance(last.node, ast.ListComp | ast.GeneratorExp):
        return way
    loops = ast.For | ast.comprehension
    walked = (each.source.parent(each.node) for each in way)
    if not any(isinstance(each, loops) for each in walked):
        return way
    return [*way, *path(last.at(last.node.elt))]


def of_setting(
    history: History,
    call: Call,
    kinds: Collection[str],
    place: int,
    names: Collection[str],
) -> Decision:
    """Return the line that chose how a step computes: the argument of its layer.

    ``kinds`` are the classes of layers that do nothing else. Of a function, what it
    was given: by name, or behind the tensors that a layer is not constructed with.
    """
    module = module_around(history, call.module)
    if module is not None and module.kind in kinds and module.site is not None:
        return of_argument(history, module, place, names)
    return of_given(
        history, call.site, call.stack, place + _tensors_before(history, call), names
    )


def _tensors_before(history: History, call: Call) -> int:
    """Return how many arguments of a call are the tensors that it works on.

    Of a tensor's method, one less: the first stands before the dot.
    """
    kinds = [isinstance(each, Value) for each in (*call.arguments, None)]
    where = spot(history, call.site, call.stack)
    spelt = where.node.args if where and isinstance(where.node, ast.Call) else []
    is_method = len(spelt) == len(call.arguments) - 1
    return max(kinds.index(False) - is_method, 0)


_INPLACE = {
    "ReLU ReLU6 SELU SiLU Mish Hardswish Hardsigmoid": 0,
    "LeakyReLU ELU CELU Dropout Dropout1d Dropout2d Dropout3d AlphaDropout "
    "FeatureAlphaDropout": 1,
    "Hardtanh Threshold RReLU": 2,
}
# layers that write what they are given if told to, and the place of `inplace`


def of_write(history: History, call: Call) -> Decision:
    """Return the line that chose to write in place: of a layer, its ``inplace``."""
    module = module_around(history, call.module)
    kind = "" if module is None else module.kind
    places = [place for kinds, place in _INPLACE.items() if kind in kinds.split()]
    if module is not None and module.site is not None and places:
        return of_argument(history, module, places[0], ("inplace",))
    return of_keyword(history, call, "inplace")


def against(
    history: History, site: RawSite | None, stack: Frames, names: Collection[str]
) -> Decision | None:
    """Return the line that chose not to call a function of one of these names.

    The setting, made elsewhere, by which the function around a site branched: it leaves
    out the branch that calls one, or returns before. None where it is not known.
    """
    where = spot(history, site, stack)
    if where is None or not isinstance(where.scope, ast.FunctionDef):
        return None
    for each in own_nodes(where.scope):
        if not isinstance(each, ast.If | ast.Match):
            continue
        rest = where.source.block(each)
        rest = rest[rest.index(each) + 1 :] if _returns(each) else []
        if not any(_calls(one, names) for one in (each, *rest)):
            continue
        for subject, _ in subjects(each):
            asked = path(where.at(subject))[-1]
            if isinstance(asked.node, ast.Constant) and asked.scope is not where.scope:
                return decided(history, asked, site)
    return None


def _returns(branch: ast.If | ast.Match) -> bool:
    return any(isinstance(each, ast.Return) for each in ast.walk(branch))


def _calls(node: ast.AST, names: Collection[str]) -> bool:
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(last_name(each.func) in names for each in calls)


def picking(history: History, where: Spot) -> RawSite | None:
    """Return the line that picked what a call calls: where its name was bound."""
    named = where.node.func if isinstance(where.node, ast.Call) else None
    bound = of_name(where.at(named)) if isinstance(named, ast.Name) else None
    return None if bound is None else site_of(history, bound)


def of_step(history: History, call: Call, kinds: Collection[str]) -> Decision:
    """Return the line that put a step into a computation.

    That is the call itself; of a layer that its container calls, what chose the layer.
    """
    layer = history.at(call.module)
    around = history.at(layer.parent) if isinstance(layer, ModuleCall) else None
    if isinstance(around, ModuleCall) and around.site == call.site:
        return of_function(history, call, kinds)
    return Decision(call.site)


def _called(
    history: History,
    site: RawSite | None,
    stack: Frames,
    kind: str,
    turn: Turn | None,
) -> Decision:
    """Return what decided which function or class the call at a site calls.

    Of two that a condition chose from, the one that has this name.
    """
    known, key = _known(history), (site, stack, kind, turn)
    if key not in known:
        where = spot(history, site, stack)
        known[key] = (
            Decision(site)
            if where is None
            else _followed(history, where.during(turn), site, kind)
        )
    return known[key]


@once
def _known(history: History) -> dict[object, Decision]:
    """Return what was followed so far: a loop asks for the same again and again."""
    del history
    return {}


def _followed(
    history: History, where: Spot, site: RawSite | None, kind: str
) -> Decision:
    if not isinstance(where.node, ast.Call):
        return Decision(site)
    way = path(where.at(where.node.func))
    if isinstance(way[-1].node, ast.IfExp):
        branches = (way[-1].node.body, way[-1].node.orelse)
        ways = [path(way[-1].at(each)) for each in branches]
        ways = [each for each in ways if last_name(each[-1].node) == kind]
        way = [*way, *ways[0]] if len(ways) == 1 else way[:1]
    return Decision(site) if len(way) == 1 else decided(history, way[-1], site)


def decided(history: History, where: Spot, made: RawSite | None) -> Decision:
    """Return the decision that an expression is, behind what was made or called."""
    around = where.source.around(where.node)
    # Of a table of constants, no instruction may mark an entry.
    marks = (e for e in around if e is where.node or isinstance(e, ast.expr))
    found = next(filter(None, (site_of(history, where.at(e)) for e in marks)), None)
    if found is None:
        return Decision(made)
    text = " ".join(where.source.of(where.node).split())
    marked = history.places.site(found)
    whole = (marked.line, marked.end_line) == (where.line, where.line)
    return Decision(found, text, made, None if whole else where.line)


def called_function(history: History, where: Spot) -> ast.FunctionDef | None:
    """Return the program's own function that a call runs: of a module, its forward."""
    if not isinstance(where.node, ast.Call):
        return None
    found = definition(where.source, last_name(where.node.func))
    if isinstance(found, ast.FunctionDef):
        return found
    return method_called(where, where.node)
