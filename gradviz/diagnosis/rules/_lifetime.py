"""What the rules about graphs and leaves share: errors, frames, names, bindings."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from gradviz.dependence.flow import words
from gradviz.dependence.learning import created_at
from gradviz.dependence.lineage import reached
from gradviz.dependence.nesting import outermost
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.program import (
    Backward,
    Call,
    Event,
    History,
    ModuleCall,
    Node,
    RawSite,
    Value,
)

CONVERSIONS = words("to cuda cpu xpu double float half bfloat16 type type_as _to_copy")
"""Methods whose result is another tensor when dtype or device change."""


# ---- errors -------------------------------------------------------------------------


def none_ended_run(history: History) -> bool:
    """Tell whether something was done with a None that cannot be done with it."""
    raised = history.raised
    return raised is not None and "NoneType" in raised.text


def failed_backwards(history: History, sentence: str) -> Iterator[Backward]:
    """Yield the backward passes that raised an error with this sentence in it."""
    for backward in history.backwards:
        if backward.error and sentence in backward.error:
            yield backward


# ---- frames -------------------------------------------------------------------------


def repeats(one: Event, other: Event) -> bool:
    """Tell whether one loop ran the same line twice: same callers, same line."""
    return same_line(one.site, other.site) and one.stack == other.stack


def is_one_of_several(history: History, first: Backward, second: Backward) -> bool:
    """Tell whether passes walk different losses, all there before the first one."""
    if {each.tensor for each in first.roots} & {each.tensor for each in second.roots}:
        return False
    made = [history.producer(root, before=second.index) for root in second.roots]
    return all(call is not None and call.index < first.index for call in made)


def outermost_module(history: History, call: Call) -> ModuleCall | None:
    """Return the outermost module call around a call: ``net(x)`` in the loop."""
    return outermost(history, call.module)


def loop_site(history: History, call: Call) -> RawSite | None:
    """Return the line outside all modules that a call belongs to."""
    module = outermost_module(history, call)
    return call.site if module is None or module.site is None else module.site


# ---- names and bindings -------------------------------------------------------------


def name_of(history: History, value: Value | None, fallback: str = "the tensor") -> str:
    """Return what the program calls a tensor, in backticks, or the fallback."""
    if value is None:
        return fallback
    known = history.name(value, "")
    if known:
        return known
    maker = history.once(makers).get(value.node or 0) or history.producer(value)
    for site in () if maker is None else maker.frames:
        if isinstance(history.places.statement(site), ast.Return):
            continue
        targets = history.places.targets(site)
        return f"`{targets[0]}`" if len(targets) == 1 else fallback
    return fallback


def makers(history: History) -> dict[int, Call]:
    """Return the call that made each node, also of those no pass ever walked."""
    return {node: call for call in history.calls for node in call.nodes}


def graph_behind(history: History, calls: Iterable[Call]) -> set[int]:
    """Return the nodes below those of calls, also where no pass ever walked."""
    made_by = history.once(makers)

    def below(key: int) -> list[int | None]:
        inputs = made_by[key].inputs if key in made_by else ()
        return [value.node for value in inputs]

    return {*reached([key for call in calls for key in call.nodes], below)}


def is_of_gradients(history: History, calls: Iterable[Call]) -> bool:
    """Tell whether the graphs behind calls lead through gradients with graphs.

    ``create_graph=True`` made those, and their norms are as short-lived as they are.
    """
    return not graph_behind(history, calls).isdisjoint(history.once(_gradient_nodes))


def _gradient_nodes(history: History) -> set[int]:
    reads = [call.outputs for call in history.calls if call.op == "grad.get"]
    results = [each.results for each in history.backwards]
    found = {value.node for row in (*reads, *results) for value in row if value}
    return {node for node in found if node is not None}


def keeps_nothing(history: History, calls: Iterable[Call]) -> bool:
    """Tell whether the graphs behind calls keep no memory that would be free otherwise.

    Parameters are there anyway, and a single number is none to speak of.
    """
    nodes = [history.node(key) for key in graph_behind(history, calls)]
    return all(
        node is not None
        and all(map(is_parameter_or_number, [each.value for each in node.saved]))
        for node in nodes
    )


def is_parameter_or_number(value: Value) -> bool:
    """Tell whether keeping a tensor costs no memory to speak of."""
    return (value.is_leaf and value.requires_grad) or math.prod(value.shape) == 1


def passed_nodes(history: History) -> set[int]:
    """Return the nodes that backward passes walked or failed on, leaves left out."""
    return {key for key in history.once(_passes_by_node) if key > 0}


def made_at(history: History, value: Value) -> RawSite | None:
    """Return where the data or the node of a tensor came from."""
    call = history.once(makers).get(value.node or 0) or history.producer(value)
    if call is not None:
        return call.site
    node = history.node(value.node)
    if node is not None and node.site is not None:
        return node.site
    return created_at(history, value.tensor)


def origin(history: History, value: Value) -> str:
    """Return what a tensor is the result of: "MulBackward0", or "`mul`"."""
    node = history.node(value.node)
    if node is not None:
        return node.name
    call = history.once(makers).get(value.node or 0) or history.producer(value)
    return "an operation" if call is None else f"`{call.op}`"


def loads(statement: ast.AST | None) -> set[str]:
    """Return the names, attributes and items that a statement or function reads."""
    if statement is None:
        return set()
    return {
        ast.unparse(each)
        for each in ast.walk(statement)
        if isinstance(each, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(each.ctx, ast.Load)
    }


def rebound(history: History, site: RawSite | None) -> str | None:
    """Return the name that a statement both reads and binds: ``w`` of ``w = w - g``."""
    statement = history.places.statement(site)
    if not isinstance(statement, ast.Assign):
        return None
    read = loads(statement)
    for target in history.places.targets(site):
        if target in read:
            return target
    return None


def passes_through(history: History, node: int) -> list[Backward]:
    """Return the backward passes that walked a node to the end, in order."""
    passes = history.once(_passes_by_node).get(node, [])
    return [each for each in passes if each.error is None]


def often_walked(history: History, least: int) -> dict[int, list[Backward]]:
    """Return the nodes, leaves left out, that so many passes walked to the end."""
    often = (
        k for k, all_of in history.once(_passes_by_node).items() if len(all_of) >= least
    )
    found = {key: passes_through(history, key) for key in often if key > 0}
    return {key: passes for key, passes in found.items() if len(passes) >= least}


def _passes_by_node(history: History) -> dict[int, list[Backward]]:
    found: dict[int, list[Backward]] = defaultdict(list)
    for each in history.backwards:
        for node in each.nodes or history.reach(each.root_nodes):
            found[node].append(each)
    return found


def describe(history: History, node: Node) -> str:
    """Return "`x ** 2` (line 18)" for a node, its name if no line is known."""
    return node.name if node.site is None else history.quoted(node.site)


def first_difference(first: Event, second: Event) -> RawSite | None:
    """Return the line of an event where its callers part from another's."""
    if first.site is None or first.site != second.site:
        return first.site
    for one, other in zip(first.stack, second.stack, strict=False):
        if one != other:
            return one
    return first.site
