"""The decision behind an event of a run: its line, and how it led to the event."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import CodeType

from gradviz.dependence.learning import once
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.bindings import definition, of_name, own_nodes
from gradviz.diagnosis.decisions.choice import method_called, path, subjects
from gradviz.diagnosis.decisions.frames import Function, Spot, last_name, spot
from gradviz.program import (
    Call,
    History,
    Module,
    ModuleCall,
    Optimizer,
    OptimizerCall,
    RawSite,
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
    return _called(history, module.site, module.stack, module.kind)


def of_function(history: History, call: Call, kinds: Collection[str]) -> Decision:
    """Return the line that chose to compute something: a layer's, or a function's.

    ``kinds`` are the classes of layers that do nothing else.
    """
    module = module_around(history, call.module)
    if module is not None and module.kind in kinds and module.site is not None:
        return of_layer(history, module)
    return _called(history, call.site, call.stack)


def of_argument(
    history: History, module: Module, place: int, names: Collection[str]
) -> Decision:
    """Return the line that chose what a constructor was given.

    By its place among the arguments, or by name. The constructor's own, where it is
    spelt out there or cannot be followed.
    """
    known, key = _known(history), (module.key, place, *names)
    if key not in known:
        known[key] = _given(history, module.site, module.stack, place, names)
    return known[key]


def of_keyword(history: History, call: Call, name: str) -> Decision:
    """Return the line that chose a keyword of a call, where it made it or before."""
    return _given(history, call.site, call.stack, None, (name,))


def of_parameters(history: History, optimizer: Optimizer) -> Decision:
    """Return the line that chose which parameters an optimizer was given."""
    stack = _stack_of(history, optimizer)
    return _given(history, optimizer.site, stack, 0, ("params",))


def of_selection(history: History, optimizer: Optimizer) -> Decision:
    """Return the line that picked an optimizer's parameters by a condition.

    That of a comprehension, of the groups' first where they are spelt out as a list;
    without one, the optimizer's own.
    """
    where = spot(history, optimizer.site, _stack_of(history, optimizer))
    params = None if where is None else given(where, 0, ("params",))
    if params is None:
        return Decision(optimizer.site)
    last = path(params)[-1]
    listed = last.node.elts if isinstance(last.node, ast.List) else []
    lists = [last.at(_params_in(each)) for each in listed] or [last]
    for found in (path(each)[-1] for each in lists):
        node = found.node
        picks = isinstance(node, ast.ListComp | ast.GeneratorExp) and node.generators
        if picks and any(of.ifs for of in picks):
            return _at(history, found, optimizer.site)
    return Decision(optimizer.site)


def _stack_of(history: History, optimizer: Optimizer) -> Frames:
    """Return the frames around the line that made an optimizer."""
    made = history.at(optimizer.made)
    return made.stack if isinstance(made, OptimizerCall) else ()


def _params_in(group: ast.expr) -> ast.expr:
    """Return what a group of parameters lists under "params"."""
    if isinstance(group, ast.Dict):
        for key, value in zip(group.keys, group.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "params":
                return value
    return group


def _given(
    history: History,
    site: RawSite | None,
    stack: Frames,
    place: int | None,
    names: Collection[str],
) -> Decision:
    where = spot(history, site, stack)
    found = None if where is None else given(where, place, names)
    if where is None or found is None:
        return Decision(site)
    way, here = path(found), any(each is found.node for each in ast.walk(where.node))
    return Decision(site) if here and len(way) == 1 else _at(history, way[-1], site)


def of_setting(
    history: History,
    call: Call,
    kinds: Collection[str],
    place: int,
    names: Collection[str],
) -> Decision:
    """Return the line that chose how a step computes: the argument of its layer.

    ``kinds`` are the classes of layers that do nothing else. Of another call, its own.
    """
    module = module_around(history, call.module)
    if module is not None and module.kind in kinds and module.site is not None:
        return of_argument(history, module, place, names)
    return Decision(call.site)


def of_number(history: History, call: Call, number: float) -> Decision:
    """Return the line that chose a plain number which a call was given.

    The call's own, or its statement's, where it is spelt out there or is computed.
    """
    where = spot(history, call.site, call.stack)
    for each in () if where is None else _given_to(where):
        way = path(each)
        if _is_number(way[-1].node, number):
            here = way[-1].source is each.source and way[-1].line == each.line
            return Decision(call.site) if here else _at(history, way[-1], call.site)
    return Decision(call.site)


def _given_to(where: Spot) -> list[Spot]:
    """Return the arguments of a call, or what an assignment stores."""
    if isinstance(where.node, ast.Call):
        return [where.at(each) for each in _arguments(where.node)]
    statement = where.source.statement(where.node)
    return [where.at(statement.value)] if isinstance(statement, ast.Assign) else []


def _is_number(node: ast.AST, number: float) -> bool:
    try:
        return ast.literal_eval(node) == number  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError):
        return False


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
                return _at(history, asked, site)
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
    history: History, site: RawSite | None, stack: Frames, kind: str = ""
) -> Decision:
    """Return what decided which function or class the call at a site calls.

    Of two that a condition chose from, the one that has this name.
    """
    known, key = _known(history), (site, stack, kind)
    if key not in known:
        known[key] = _followed(history, site, stack, kind)
    return known[key]


@once
def _known(history: History) -> dict[object, Decision]:
    """Return what was followed so far: a loop asks for the same again and again."""
    del history
    return {}


def _followed(
    history: History, site: RawSite | None, stack: Frames, kind: str
) -> Decision:
    where = spot(history, site, stack)
    if where is None or not isinstance(where.node, ast.Call):
        return Decision(site)
    way = path(where.at(where.node.func))
    if isinstance(way[-1].node, ast.IfExp):
        branches = (way[-1].node.body, way[-1].node.orelse)
        ways = [path(way[-1].at(each)) for each in branches]
        ways = [each for each in ways if last_name(each[-1].node) == kind]
        way = [*way, *ways[0]] if len(ways) == 1 else way[:1]
    return Decision(site) if len(way) == 1 else _at(history, way[-1], site)


def _at(history: History, where: Spot, made: RawSite | None) -> Decision:
    """Return the decision that an expression is, behind what was made or called."""
    found = site_of(history, where)
    if found is None:
        return Decision(made)
    text = " ".join(where.source.of(where.node).split())
    marked = history.places.site(found)
    whole = (marked.line, marked.end_line) == (where.line, where.line)
    return Decision(found, text, made, None if whole else where.line)


def of_elements(history: History, site: RawSite | None, stack: Frames = ()) -> Decision:
    """Return the line that chose for what a statement runs: the loop that it fills.

    What is done to each element of a loop, and nothing else, is decided by what the
    loop walks, or by the condition in it. In a helper, by who gave it that to walk.
    """
    where, statement = spot(history, site, stack), history.places.statement(site)
    if where is None or statement is None or site is None:
        return Decision(site)
    around, decided = where.source.parent(statement), statement
    if isinstance(around, ast.If) and around.body == [statement]:
        decided, around = around, where.source.parent(around)
    if isinstance(around, ast.For) and around.body == [decided]:
        decided = around if decided is statement else decided
    given = None if isinstance(decided, ast.If) else _given_by(where, decided)
    if given is not None:
        return _at(history, given, site)
    if decided is statement:
        return Decision(site)
    found = history.places.at_line(site[0], decided.lineno)
    return Decision(found, history.text(found), site)


def _given_by(where: Spot, decided: ast.stmt) -> Spot | None:
    """Return the argument of the call that gave a helper what it works on."""
    walked = decided.iter if isinstance(decided, ast.For) else where.node
    names = [
        each
        for each in ast.walk(walked)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    ]
    if len(names) != 1:
        return None
    given = of_name(where.at(names[0]))
    is_argument = given is not None and given.node in _arguments(where.frame.call)
    return given if is_argument else None


def _arguments(call: ast.Call | None) -> list[ast.expr]:
    return [] if call is None else [*call.args, *(k.value for k in call.keywords)]


def parting(one: Frames, other: Frames) -> tuple[RawSite, RawSite] | None:
    """Return the two lines of one function, in one call, that led to two events.

    There the program chose which comes first. None where they are one line. Of deep
    stacks only the innermost frames are known: the same ones lie around the two lines.
    """
    for place, mine in enumerate(one, 1):
        for also, others in enumerate(other, 1):
            around = zip(one[place:], other[also:], strict=False)
            apart = mine[0] is others[0] and mine != others
            if apart and all(a == b for a, b in around):
                return mine, others
    return None


def turned_at(history: History, around: Frames) -> RawSite | None:
    """Return the innermost of an event's frames that stands in a loop."""
    for place, site in enumerate(around, 1):
        where = spot(history, site, around[place:])
        for each in () if where is None else where.source.around(where.node):
            if isinstance(each, Function):
                break
            if isinstance(each, ast.For | ast.AsyncFor | ast.While):
                return site
    return None


def called_function(history: History, where: Spot) -> ast.FunctionDef | None:
    """Return the program's own function that a call runs: of a module, its forward."""
    if not isinstance(where.node, ast.Call):
        return None
    found = definition(where.source, last_name(where.node.func))
    if isinstance(found, ast.FunctionDef):
        return found
    return method_called(where, where.node)


# ---- from syntax back to sites -------------------------------------------------------


def site_of(history: History, where: Spot) -> RawSite | None:
    """Return a site that marks an expression, or else its line."""
    node: ast.expr = where.node  # type: ignore[assignment]
    wanted = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
    on_line: RawSite | None = None
    for code in codes(history, where.source.file):
        for index, position in enumerate(code.co_positions()):
            if position == wanted:
                return code, index * 2
            if position[0] == node.lineno and on_line is None:
                on_line = code, index * 2
    return on_line


def site_at(history: History, site: RawSite | None, line: int) -> RawSite | None:
    """Return a site at another line of the file of a site, whatever function has it."""
    for code in [] if site is None else codes(history, site[0].co_filename):
        if any(line == first for _, _, first in code.co_lines()):
            return history.places.at_line(code, line)
    return None


def codes(history: History, file: str) -> Iterator[CodeType]:
    """Yield the functions of a file that the log has seen, then those inside them.

    Last, the whole file as it would be compiled: what ran only to define others.
    """
    for code in functions(history):
        if code.co_filename == file:
            yield code
    tree = history.places.tree(file)
    waiting = [] if tree is None else [compile(tree, file, "exec", dont_inherit=True)]
    for code in waiting:
        yield code
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]


@once
def functions(history: History) -> list[CodeType]:
    """Return the functions that the log has seen, then those defined inside them."""
    sites = (site for call in history.calls for site in (call.site, *call.stack))
    found = dict.fromkeys(site[0] for site in sites if site is not None)
    waiting = list(found)
    for code in waiting:
        for each in code.co_consts:
            if isinstance(each, CodeType) and each not in found:
                found[each] = None
                waiting.append(each)
    return waiting
