"""Rows are put in another order within the tensor that they are read from.

What it does
    Finds loops that copy rows of a tensor to other rows of the same memory, each row
    once, where a row is read after another one was written over it; two rows that
    change places by ``x[i], x[j] = x[j], x[i]``.

Why is this bad
    What was in that row is gone: the row that was written there is copied on, so some
    rows come twice and others never. Nothing fails, also not backward, which gives the
    lost rows no gradient. Behind a sort by length, samples meet the labels of others.

Example
    ::

        out = states
        for row, original in enumerate(order):
            out[original] = states[row]

Use instead
    ::

        out = torch.empty_like(states)
        for row, original in enumerate(order):
            out[original] = states[row]

When it stays quiet
    Where each row is read before it is written, as in a shift; where rows stay out of
    it, as when gaps are filled with the row before.

References
    https://docs.python.org/3/library/copy.html
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence.op_families import plain
from gradviz.diagnosis.decisions.bindings import of_name
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.decisions.sites import line_of, site_of
from gradviz.diagnosis.edits.writes import copies
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_LEAST = 3  # rows
_Copy = tuple[int, int]  # where a row is written, and where it is read: offsets


@rule("GV638", "rows-lost-in-a-swap", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that copies so."""
    lines = dict[RawSite | None, object]()
    loops: dict[tuple[object, int], list[Call]] = defaultdict(list)
    for call in history.calls:
        if plain(call.op) in ("setitem", "copy") and _copy(call) is not None:
            if call.site not in lines:
                lines[call.site] = call.site and line_of(call.site)
            loops[lines[call.site], call.writes[0].storage].append(call)
    told = set[object]()
    for (line, _), calls in loops.items():
        lost = _lost([found for call in calls if (found := _copy(call))])
        if lost and line not in told:
            told.add(line)
            yield _hit(history, calls[0], lost, len(calls))


def _copy(call: Call) -> _Copy | None:
    """Return from where to where a call copies a row of one memory."""
    source = call.arguments[-1] if call.arguments else None
    if len(call.writes) != 1 or not isinstance(source, Value):
        return None
    written = call.writes[0]
    target = written.value
    same = source.storage == written.storage and source.shape == target.shape
    return (target.offset, source.offset) if same else None


def _lost(moves: list[_Copy]) -> int:
    """Return how many rows were read after another one was written over them."""
    pairs = list(zip(moves[::2], moves[1::2], strict=False))
    if len(moves) % 2 == 0 and all(one == other[::-1] for one, other in pairs):
        return sum(target != source for (target, source), _ in pairs)  # `a, b = b, a`
    written, read = zip(*moves, strict=True) if moves else ((), ())
    if len(moves) < _LEAST or set(written) != set(read):
        return 0
    if len(set(written)) != len(written):
        return 0
    over, lost = set[int](), 0
    for target, source in moves:
        lost += source in over
        if target != source:
            over.add(target)
    return lost


def _hit(history: History, call: Call, lost: int, rows: int) -> Hit:
    alias = _alias(history, call)
    return Hit(
        f"{history.quoted(call.site)} puts {rows} rows in another order within the "
        f"memory that it reads them from: {lost} of them had been written over before "
        "they were read, so some rows are there twice and others are lost.",
        alias or call.site,
        "Write them to a copy, `.clone()`, so that all rows are read as they were.",
        symptom=call.site,
        related=(Related("written over here", call.site if alias else None),),
        tensors=(call.writes[0].value.tensor,),
        edit=copies(alias) if alias else None,
        certainty=0.95,
    )


def _alias(history: History, call: Call) -> RawSite | None:
    """Return the line that gave the memory the name through which it is written."""
    where = spot(history, call.site, call.stack)
    statement = None if where is None else where.source.statement(where.node)
    match statement:
        case ast.Assign([ast.Subscript(ast.Name(name) as target)], value):
            read = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
        case _:
            return None
    made: Spot | None = None if where is None else of_name(where.at(target))
    is_alias = made is not None and isinstance(made.node, ast.Name)
    if name in read or made is None or not is_alias:
        return None
    return site_of(history, made)
