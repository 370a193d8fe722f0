"""A Python function turned a tensor into a number, and the loss goes on with that.

What it does
    Finds calls such as ``math.sin(angle)`` on a tensor with a graph, whose number goes
    into a tensor operation of the same statement, or of one that reads the variable it
    was given to, on the way to a loss.

Why is this bad
    ``math`` converts a tensor without being told to. The factor is a constant then:
    where the tensor takes other ways to the loss as well, every parameter has a
    gradient, and a wrong one.

Example
    ::

        acceleration = -gravity * math.sin(angle)

Use instead
    ::

        acceleration = -gravity * torch.sin(angle)

When it stays quiet
    Numbers that go into no loss. Where the program asks for the number itself, with
    ``.item()`` or ``float()``, or where a mean or a sum weighs something with it, as in
    ``math.exp(-loss) * loss``, it is an information only, unless it is a term of a loss
    and no pass walks the graph behind it. A number that comes back as
    it was belongs to another rule.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.item.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradviz.dependence.cuts import is_dead, sampled
from gradviz.dependence.flow import PICKING, Flow, name_of, words
from gradviz.dependence.learning import once
from gradviz.dependence.numbers import numbers_in
from gradviz.dependence.op_families import CONSTANTS, of_op, plain
from gradviz.diagnosis.edits.calls import of_tensors
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import loads
from gradviz.diagnosis.rules._terms import accounts, walked
from gradviz.program import Backward, Call, History, RawSite, Value

_NUMBERS = words("float item")
_SUMS = words("add radd sub rsub sum")
_NEAR = 8  # calls after the conversion that may take its number


@rule("GV320", "number-of-a-tensor", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose number reached a loss."""
    for each in taken(history):
        yield _hit(history, each)


@dataclass(frozen=True, slots=True)
class Taken:
    """A number that a loss was computed with as a constant."""

    export: Call
    entry: Call
    backward: Backward  # of the loss
    leaves: frozenset[int]  # behind the tensor that the number was made of
    is_meant: bool  # the program asks for the number, or weighs something with it


@once
def taken(history: History) -> list[Taken]:
    """Return one of each line whose number reached a loss."""
    entered, told = list(_entered(history)), dict[RawSite | None, Taken]()
    for backward in sampled(history) if entered else ():
        behind = history.behind(backward.roots, backward.index)
        for export, entry in entered:
            made = {each.tensor for each in entry.outputs}
            if export.site in told or made.isdisjoint(behind):
                continue
            value, lost = export.inputs[0], _is_lost(history, export, entry)
            # Of what was detached a constant is meant, but for a term that is lost.
            if not value.requires_grad and not lost:
                continue
            asked = _is_asked(history, export) and not lost
            told[export.site] = Taken(
                export,
                entry,
                backward,
                frozenset(history.once(Flow).leaves(value, export.index)),
                asked or _is_weight(history, export, entry),
            )
    return list(told.values())


def _entered(history: History) -> Iterator[tuple[Call, Call]]:
    """Yield each conversion to a number with the call that took what became of it."""
    calls = history.calls
    for place, export in enumerate(calls):
        if name_of(export) not in _NUMBERS or not export.inputs or export.outputs:
            continue
        if _source(history, export) is None or not isinstance(export.result, float):
            continue
        for call in calls[place + 1 : place + 1 + _NEAR]:
            given = {*numbers_in((*call.arguments, *call.keywords.values()))}
            if call.outputs and given and _reads(history, call, export):
                if export.result not in given:
                    yield export, call
                break


def _source(history: History, export: Call) -> Value | None:
    """Return the tensor with a graph that a number was made of, perhaps detached."""
    value = export.inputs[0]
    if value.requires_grad:
        return value
    made = history.producer(value, export.index)
    if made is None or made.op not in ("detach", "data.get") or not made.inputs:
        return None
    return made.inputs[0] if made.inputs[0].requires_grad else None


def _reads(history: History, call: Call, export: Call) -> bool:
    """Return whether a call's statement is that of the number, or reads its name.

    So is one that called the function which made the number and returned it.
    """
    here = [site for site in export.frames if call.site and site[0] is call.site[0]]
    if not here or (export.site not in here and _is_put_away(history, export)):
        return False
    statement = history.places.statement(call.site)
    if any(statement is history.places.statement(site) for site in here):
        return True
    read = loads(statement)
    return any(read & set(history.places.targets(site)) for site in here)


def _is_put_away(history: History, export: Call) -> bool:
    """Return whether a number goes into a table that its function does not read."""
    statement = history.places.statement(export.site)
    function = export.site and history.places.function(export.site[0])
    if not isinstance(statement, ast.Assign) or not function:
        return False
    tables = [
        each.value for each in statement.targets if isinstance(each, ast.Subscript)
    ]
    names = {ast.dump(each) for each in tables}
    written = {
        each.value
        for each in ast.walk(function)
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
    }
    inside = (each for each in ast.walk(function) if each not in written)
    return len(tables) == len(statement.targets) and not any(
        ast.dump(each) in names for each in inside
    )


def _is_asked(history: History, export: Call) -> bool:
    """Return whether the program itself asks for a number: ``.item()``, ``float()``."""
    said = history.text(export.site).startswith(("float(", "int(", "round("))
    return said or name_of(export) != "float"


def _is_lost(history: History, export: Call, entry: Call) -> bool:
    """Return whether the number is a term of a loss, and no pass walks its graph."""
    source = _source(history, export)
    return (
        entry.index in _number_terms(history)
        and source is not None
        and not source.shape
        and source.node is not None
        and source.node not in walked(history)
    )


@once
def _number_terms(history: History) -> set[int]:
    """Return the calls that take a number into a loss, as a term of it."""
    return {
        term.use.index
        for account in accounts(history)
        for term in account.terms
        if term.use is not None and term.number is not None
    }


def _is_weight(history: History, export: Call, entry: Call) -> bool:
    """Return whether a measure of many elements became a factor of something."""
    value: Value | None = export.inputs[0]
    before = export.index
    if of_op(entry.op) not in ("product", "division") or plain(entry.op) in _SUMS:
        return False
    while value is not None and (call := history.producer(value, before)):
        learned = [each for each in call.inputs if each.requires_grad]
        larger = any(prod(each.shape) > prod(value.shape) for each in learned)
        if larger and plain(call.op) not in PICKING:
            return True
        value, before = learned[0] if len(learned) == 1 else None, call.index
    return False


def _hit(history: History, found: Taken) -> Hit:
    export, entry, backward = found.export, found.entry, found.backward
    value = export.inputs[0]
    name = history.name(value, "a tensor with a graph")
    text = history.text(export.site)
    edit = None
    fix = "Use the tensor function of the same name, `torch.sin` for `math.sin`"
    if plain(entry.op) in CONSTANTS:
        fix += f", and multiply with it what `{entry.op}` gives, which takes no graph"
    else:
        edit = of_tensors(export.site)
    return Hit(
        f"`{text}` makes a Python number of {name}, and {history.quoted(entry.site)} "
        f"computes with it as a constant: the loss of {history.line(backward.site)} "
        f"depends on {name} here, and no gradient goes this way.",
        export.site,
        f"{fix}; write `.detach()` where a constant is meant.",
        symptom=backward.site,
        related=(Related("goes on as a constant", entry.site),),
        nodes=() if value.node is None else (value.node,),
        tensors=(value.tensor,),
        severity="info" if found.is_meant else None,
        edit=edit,
        explains=is_dead(backward) and history.ended_by(backward),
        certainty=0.6,
    )
