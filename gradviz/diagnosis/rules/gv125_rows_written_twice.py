"""``rows[index] += values`` with an index that names a row twice.

What it does
    Finds rows that are read with an index, added to and written back with the same
    index, by an assignment, ``index_put``, ``index_copy`` or ``scatter``, in place or
    not, where the index has more entries than there are rows between its least and its
    greatest.

Why is this bad
    The rows are read before any is written, so of several values for one row the last
    one stays: the others are lost, and what they were computed from gets no gradient.

Example
    ::

        inbox[receiver] += message

Use instead
    ::

        inbox = inbox.index_add(0, receiver, message)

When it stays quiet
    Nothing proves that a row is named twice; the rows are scaled or replaced, not added
    to; ``index_add_``, ``scatter_add_`` and ``index_put_(…, accumulate=True)``.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.flow import name_of, words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.edits.writes import rows_added
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import Call, History, RawSite, Value

_ADDING = words("add radd sub")
_READING = words("getitem index_select gather take_along_dim")
_WRITING = words("setitem index_put index_copy scatter")
_SUMMING = ("accumulate", "reduce")  # of several values for one row


@rule("GV125", "rows-written-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that loses values so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if plain(name_of(call)) not in _WRITING or call.site in told:
            continue
        if len(call.inputs) != 3 or _adds_up(call):
            continue
        rows, index, values = call.inputs
        if _names_twice(call, index) and _is_sum(history, call):
            told.add(call.site)
            yield _hit(history, call, rows, index, values)


def _adds_up(call: Call) -> bool:
    """Tell whether a call adds up the values for one row itself."""
    return any(call.keywords.get(each) for each in _SUMMING) or call.arguments[3:] == (
        True,
    )


def _names_twice(call: Call, index: Value) -> bool:
    """Return whether there are more entries than different numbers among them."""
    scan = index.summary
    if not index.dtype.startswith("int") or scan is None or scan.minimum is None:
        return False
    if "scatter" in call.op and len(index.shape) != 1:
        return False  # each column has entries of its own
    return scan.count > (scan.maximum or 0) - scan.minimum + 1


def _is_sum(history: History, call: Call) -> bool:
    """Return whether what is written are the same rows, with something added."""
    rows, index, values = call.inputs
    added = history.last_producer(values, call.index)
    if added is None or plain(added.op) not in _ADDING:
        return False
    summands = added.inputs[:1] if plain(added.op) == "sub" else added.inputs
    reads = [history.producer(each, added.index) for each in summands]
    return any(
        read is not None
        and plain(name_of(read)) in _READING
        and [each.tensor for each in read.inputs] == [rows.tensor, index.tensor]
        for read in reads
    )


def _rows(history: History, call: Call) -> str:
    """Return how a line calls the rows that it writes: ``h`` of ``h[i] = …``."""
    before = "[" if name_of(call) == "setitem" else f".{call.op}("
    found = history.text(call.site).partition(before)[0]
    return found if found and found != "torch" and "\n" not in found else "rows"


def _spelt(history: History, call: Call) -> tuple[str, str]:
    """Return how a line spells its index and what it adds."""
    statement = history.places.statement(call.site)
    if isinstance(statement, ast.AugAssign) and isinstance(
        statement.target, ast.Subscript
    ):
        return ast.unparse(statement.target.slice), ast.unparse(statement.value)
    for each in () if statement is None else ast.walk(statement):
        match each:
            case ast.BinOp(ast.Subscript(_, which), ast.Add(), added):
                return ast.unparse(which), ast.unparse(added)
            case ast.BinOp(added, ast.Add(), ast.Subscript(_, which)):
                return ast.unparse(which), ast.unparse(added)
            case _:
                pass
    return "index", "values"


def _hit(history: History, call: Call, rows: Value, index: Value, values: Value) -> Hit:
    count = index.summary.count if index.summary is not None else 0
    row = _rows(history, call)
    name = history.name(rows, f"`{row}`")
    which, added = _spelt(history, call)
    return Hit(
        f"`{history.text(call.site)}` reads rows of {name}, adds to them and writes "
        f"them back, and {history.name(index, 'its index')} names some rows more than "
        f"once ({count} entries for {rows.shape[0]} rows): of several values for one "
        "row only one stays.",
        call.site,
        f"Write `{row} = {row}.index_add(0, {which}, {added})`, which adds them all.",
        symptom=call.site,
        tensors=(rows.tensor, index.tensor),
        severity=None if values.requires_grad else "info",
        certainty=0.9,
        edit=rows_added(call.site),
    )
