"""The decision behind an event of a run: its line, and how it led to the event."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType

from gradviz.dependence.learning import once
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.bindings import definition, of_name, own_nodes
from gradviz.diagnosis.decisions.choice import entry_of, method_called, path, subjects
from gradviz.diagnosis.decisions.frames import UNKNOWN, Function, Spot, last_name, spot
from gradviz.program import (
    Call,
    History,
    Module,
    ModuleCall,
    Optimizer,
    OptimizerCall,
    RawSite,
    ScheduleCall,
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
                    Decision(call.site) if is_own else _at(history, way[-1], call.site)
                )
        else:
            left = where.frame if _hands_on(where) else None
        if left is None or left.call is None or left.source is None:
            break
        where = Spot(left.source, left.call, left.outer or UNKNOWN)
    if where is None or where is first:
        return Decision(call.site)
    return _at(history, where, call.site)


def _hands_on(where: Spot) -> bool:
    """Tell whether a call is given all the options of the function around it."""
    call, scope = where.node, where.scope
    kept = scope.args.kwarg if isinstance(scope, Function) else None
    tables = [each.value for each in getattr(call, "keywords", ()) if each.arg is None]
    names = [each.id for each in tables if isinstance(each, ast.Name)]
    return kept is not None and kept.arg in names


def of_parameters(history: History, optimizer: Optimizer) -> Decision:
    """Return the line that chose which parameters an optimizer was given.

    Where a helper makes it for the model that it is handed, who handed it that.
    """
    where = spot(history, optimizer.site, _stack_of(history, optimizer))
    params = None if where is None else given(where, 0, ("params",))
    if where is None or params is None:
        return Decision(optimizer.site)
    last = path(params)[-1]
    while (handed := _given_by(last)) is not None:
        last = handed
    own = last.node in _arguments(where.node)
    return Decision(optimizer.site) if own else _at(history, last, optimizer.site)


def of_rate(history: History, optimizer: Optimizer) -> Decision:
    """Return the line that chose how long the steps of an optimizer are.

    Its own rate, that of the only group that has one, or a scheduler's that takes no
    notice of it.
    """
    for made in history.of(ScheduleCall):
        place = _PEAKS.get(made.kind) if made.what == "init" else None
        if made.optimizer == optimizer.key and place is not None:
            return _given(history, made.site, made.stack, place, ("max_lr",))
    stack = _stack_of(history, optimizer)
    where = spot(history, optimizer.site, stack)
    groups = None if where is None else given(where, 0, ("params",))
    last = None if groups is None else path(groups)[-1]
    listed = last.node.elts if last and isinstance(last.node, ast.List) else ()
    rates = [entry_of(last.at(each), "lr") for each in listed if last is not None]
    own = [each for each in rates if each is not None]
    if len(own) == 1 and not (where and given(where, 1, ("lr",))):
        return _at(history, path(own[0])[-1], optimizer.site)
    return _given(history, optimizer.site, stack, 1, ("lr",))


_PEAKS = {"OneCycleLR": 1, "CyclicLR": 2}
# schedulers that have a rate of their own: its place among the arguments


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
    way = _of_elements(path(found))
    here = any(each is found.node for each in ast.walk(where.node))
    return Decision(site) if here and len(way) == 1 else _at(history, way[-1], site)


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


def of_size(
    history: History, module: Module, place: int, names: Collection[str], ratio: float
) -> Decision:
    """Return the line that computed a size, which is wrong by a ratio.

    Of a product, what chose the factor that explains it by occurring several times: of
    ``channels * side * side``, the side. The constructor's own line, where nothing is
    computed: then the wrong size may have been taken.
    """
    where = spot(history, module.site, module.stack)
    sized = None if where is None else given(where, place, names)
    if where is None or sized is None:
        return Decision(module.site)
    last = path(sized)[-1]
    several = [
        factor
        for factor, count in _factors(last.node).items()
        if count > 1 and _is_power(ratio, count)
    ]
    if len(several) == 1:
        last = path(last.at(several[0]))[-1]
    computed = isinstance(last.node, ast.BinOp) or len(several) == 1
    return _at(history, last, module.site) if computed else Decision(module.site)


def _factors(node: ast.AST) -> dict[ast.expr, int]:
    """Return the factors of a product that are no numbers, and how often they occur."""
    first: dict[str, ast.expr] = {}
    counts: dict[ast.expr, int] = {}
    waiting = [(node, 1)]
    for each, times in waiting:
        match each:
            case ast.BinOp(left, ast.Mult(), right):
                waiting += [(left, times), (right, times)]
            case ast.BinOp(base, ast.Pow(), ast.Constant(int(power))):
                waiting.append((base, times * power))
            case ast.Name() | ast.Attribute() | ast.Call():
                same = first.setdefault(ast.unparse(each), each)
                counts[same] = counts.get(same, 0) + times
            case _:
                pass
    return counts


def _is_power(ratio: float, count: int) -> bool:
    """Tell whether a ratio is that of two small numbers to a power.

    >>> _is_power(25 / 16, 2), _is_power(3 / 2, 2)
    (True, False)
    """
    root = ratio ** (1 / count)
    found = Fraction(root).limit_denominator(64)
    return abs(float(found) - root) < 1e-9 * root


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
    return _given(
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
    found = [(k.split(), n) for k, n in _INPLACE.items() if kind in k.split()]
    kinds, place = found[0] if found else ([], 0)
    return of_setting(history, call, kinds, place, ("inplace",))


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
    walked = decided.iter if isinstance(decided, ast.For) else where.node
    handed = None if isinstance(decided, ast.If) else _given_by(where.at(walked))
    if handed is not None:
        return _at(history, handed, site)
    if decided is statement:
        return Decision(site)
    found = history.places.at_line(site[0], decided.lineno)
    return Decision(found, history.text(found), site)


def of_scale(history: History, call: Call) -> Decision:
    """Return the line that chose or computed the one number that a call was given.

    Of what is computed from one name alone, what gave that its value: of
    ``sqrt(2 / fan_in)``, the fan. The call's own, where it spells out its numbers.
    """
    where = spot(history, call.site, call.stack)
    if where is None or not isinstance(where.node, ast.Call):
        return Decision(call.site)
    numbers = (_number(where.at(each)) for each in _arguments(where.node))
    found = [each for each in numbers if each is not None]
    elsewhere = [each for each in found if each.line != where.line]
    return (
        _at(history, elsewhere[0], call.site)
        if len(elsewhere) == 1
        else Decision(call.site)
    )


def _number(where: Spot) -> Spot | None:
    """Return what chose or computed a number; None of what may be none."""
    last = path(where)[-1]
    if isinstance(last.node, ast.Constant):
        return last
    if not isinstance(last.node, ast.BinOp | ast.Call):
        return None
    called = (e.func for e in ast.walk(last.node) if isinstance(e, ast.Call))
    functions = {each for func in called for each in ast.walk(func)}
    names = [
        each
        for each in ast.walk(last.node)
        if isinstance(each, ast.Name) and each not in functions
    ]
    one = of_name(last.at(names[0])) if len({e.id for e in names}) == 1 else None
    return last if one is None else path(one)[-1]


def of_objects(history: History, site: RawSite | None) -> Decision | None:
    """Return the line that chose for which objects a loop calls a method.

    That is what the loop walks, or a condition in it: ``for each in optimizers[:1]:
    each.step()``. None where no loop gives the object.
    """
    where = spot(history, site)
    if where is None or not isinstance(where.node, ast.Call):
        return None
    names, tests = _names_in(where.node.func), list[ast.expr]()
    for each in where.source.around(where.node):
        if isinstance(each, ast.If):
            tests.append(each.test)
        for loop in [each] if isinstance(each, ast.For) else _generators(each):
            turned = _names_in(loop.target)
            if names & turned:
                tests += getattr(loop, "ifs", [])
                asked = [where.at(test) for test in tests if turned & _names_in(test)]
                return _at(history, asked[0] if asked else _walked(where, loop), site)
        if isinstance(each, Function):
            break
    return None


def _walked(where: Spot, loop: ast.For | ast.comprehension) -> Spot:
    """Return the collection that a loop walks, where it is spelt out, or the walk."""
    last = path(where.at(_container(loop.iter)))[-1]
    spelt_out = isinstance(last.node, ast.List | ast.Tuple | ast.Dict)
    return last if spelt_out else where.at(loop.iter)


def _names_in(node: ast.AST) -> set[str]:
    """Return the names that stand in an expression."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _generators(node: ast.AST) -> list[ast.comprehension]:
    return getattr(node, "generators", [])


def _container(walked: ast.expr) -> ast.expr:
    """Return what a loop takes its elements from: of ``table.items()``, the table."""
    match walked:
        case ast.Call(ast.Attribute(table, "items" | "keys" | "values"), []):
            return _container(table)
        case ast.Call(ast.Name("enumerate" | "list" | "reversed" | "tuple"), [given]):
            return _container(given)
        case _:
            return walked


def _given_by(where: Spot) -> Spot | None:
    """Return the argument of the call that gave a helper what it works on."""
    names = [
        each
        for each in ast.walk(where.node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    ]
    if len(names) != 1:
        return None
    found = of_name(where.at(names[0]))
    is_argument = found is not None and found.node in _arguments(where.frame.call)
    return found if is_argument else None


def _arguments(call: ast.AST | None) -> list[ast.expr]:
    if not isinstance(call, ast.Call):
        return []
    return [*call.args, *(each.value for each in call.keywords)]


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
