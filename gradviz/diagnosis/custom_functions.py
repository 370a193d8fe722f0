"""The user's ``autograd.Function`` classes: their nodes, and lines of their source."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType

from gradviz.dependence.learning import once
from gradviz.dependence.nesting import within
from gradviz.diagnosis.decisions.bindings import last_assigned, own_nodes
from gradviz.program import (
    Backward,
    Call,
    CustomFunction,
    History,
    Node,
    RawSite,
    Value,
)


def custom_nodes(history: History) -> Iterator[tuple[Node, CustomFunction]]:
    """Yield the nodes of the user's Functions, in the order they were made."""
    for node in history.program.nodes.values():
        if node.custom is not None:
            yield node, node.custom


def named(history: History, name: str) -> CustomFunction | None:
    """Return the user's Function behind a node name such as ``ScaleBackward``."""
    found = [custom for _, custom in custom_nodes(history)]
    for custom in [*found, *history.program.functions]:
        if f"{custom.name}Backward" == name:
            return custom
    return None


@dataclass(frozen=True, slots=True)
class UnmarkedWrite:
    """A write to an input of forward that no ``ctx.mark_dirty`` tells of."""

    custom: CustomFunction
    applied: Call
    write: Call
    value: Value  # the input

    def is_of(self, value: Value | None) -> bool:
        """Tell whether a tensor is this input, handed through."""
        mine = self.value.storage, self.value.shape
        return value is not None and mine == (value.storage, value.shape)


@once
def unmarked_writes(history: History) -> list[UnmarkedWrite]:
    """Return the writes of forwards to inputs that require grad, in order."""
    silent = {
        each.name: each
        for each in history.program.functions
        if each.forward is not None and "mark_dirty" not in each.forward.co_names
    }
    applied = [call for call in history.calls if call.op in silent] if silent else []
    return [
        UnmarkedWrite(silent[outer.op], outer, call, value)
        for outer in applied
        for call in within(history).get(outer.index, ())
        for value in outer.inputs
        if value.requires_grad
        and any(write.storage == value.storage for write in call.writes)
    ]


def tensor_positions(custom: CustomFunction) -> list[int]:
    """Return which arguments of ``apply`` were tensors: those have an edge each."""
    return [
        place for place, each in enumerate(custom.inputs) if isinstance(each, Value)
    ]


# ---- lines of the source ------------------------------------------------------------


def returns(history: History, code: CodeType | None) -> list[ast.Return]:
    """Return the return statements of a function, not those of functions inside it."""
    function = history.places.function(code) if code is not None else None
    if not isinstance(function, ast.FunctionDef):
        return []
    return [each for each in own_nodes(function) if isinstance(each, ast.Return)]


def returned(statement: ast.Return) -> list[ast.expr]:
    """Return the expressions that a return statement gives back, one per gradient."""
    value = statement.value
    if value is None:
        return []
    return list(value.elts) if isinstance(value, ast.Tuple) else [value]


def returned_for(
    history: History, custom: CustomFunction, number: int
) -> list[ast.expr]:
    """Return what the returns of a backward give for one input of forward."""
    given = map(returned, returns(history, custom.backward))
    return [each[number] for each in given if number < len(each)]


def return_place(
    history: History,
    code: CodeType | None,
    wanted: Callable[[ast.Return], bool] = lambda _: True,
) -> tuple[RawSite | None, int | None]:
    """Return site and line of the wanted return statement, else of the last one.

    Without any, of the last statement, behind which it is missing.
    """
    if code is None:
        return None, None
    found = returns(history, code)
    if not found:
        function = history.places.function(code)
        body = function.body if isinstance(function, ast.FunctionDef) else []
        last = body[-1].end_lineno if body else None
        return ((code, 0), None) if last is None else place(history, code, last)
    best = [each for each in found if wanted(each)] or found
    return place(history, code, best[-1].lineno)


def named_at(
    history: History, code: CodeType | None, expression: ast.expr | None
) -> int | None:
    """Return the line that last bound a name that a function returns, if it is one."""
    function = history.places.function(code) if code is not None else None
    if not isinstance(expression, ast.Name) or not isinstance(
        function, ast.FunctionDef
    ):
        return None
    last = last_assigned(own_nodes(function), expression.id, expression.lineno)
    return None if last is None else last.lineno


def place(
    history: History, code: CodeType, line: int
) -> tuple[RawSite | None, int | None]:
    """Return site and line of one line of a function."""
    return history.places.at_line(code, line), line


def definition(code: CodeType | None) -> RawSite | None:
    """Return the site of a function as a whole."""
    return None if code is None else (code, 0)


def refusals(
    history: History, error: re.Pattern[str]
) -> Iterator[tuple[Backward, re.Match[str]]]:
    """Yield the passes that raised such an error, with what it says."""
    for event in history.backwards:
        match = error.search(event.error or "")
        if match is not None:
            yield event, match


def is_none(expression: ast.expr) -> bool:
    """Tell whether an expression is the word None."""
    return isinstance(expression, ast.Constant) and expression.value is None


# ---- second derivatives -------------------------------------------------------------


def twice_differentiated(
    history: History,
) -> Iterator[tuple[Backward, Node, CustomFunction]]:
    """Yield the user's nodes that a pass with ``create_graph=True`` went through."""
    for event in history.backwards:
        if not event.create_graph:
            continue
        for key in event.nodes or tuple(run.node for run in event.runs):
            node = history.node(key)
            if node is not None and node.custom is not None:
                yield event, node, node.custom


def second_pass(history: History, first: Backward) -> Backward | None:
    """Return the pass that needs the graph of a first one: it raised, or uses it."""
    results = {value.tensor for value in first.results if value is not None}
    for event in history.backwards:
        if event.index <= first.index:
            continue
        if _lacks_graph(event) or results & history.behind(event.roots, event.index):
            return event
    return None


def _lacks_graph(event: Backward) -> bool:
    return event.error is not None and any(
        part in event.error
        for part in (
            "does not require grad", "not to have been used", "once_differentiable",
        )
    )  # fmt: skip


# ---- formulas -----------------------------------------------------------------------


def is_wrong(history: History) -> bool:
    """Tell whether a derivative of the user's was seen to be wrong."""
    customs = [custom for _, custom in custom_nodes(history)]
    return any(has_failed(each) for each in [*customs, *history.program.functions])


def has_failed(custom: CustomFunction) -> bool:
    """Tell whether the check of a Function found a wrong derivative.

    A forward without a derivative (a straight-through estimator) and one that returns
    its input (a reversed gradient) differ from their backward on purpose.
    """
    check = custom.check
    return check is not None and not (check.flat or check.identity or check.missing)
