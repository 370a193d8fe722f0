"""``rows[index] += values`` with an index that names a row twice.

What it does
    Finds rows that are read with an index, added to and written back with the same
    index, where the index has more entries than there are rows between its least and
    its greatest.

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

from collections.abc import Iterator

from gradviz.dependence.flow import name_of, words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.edits.writes import rows_added
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import Call, History, RawSite, Value

_ADDING = words("add radd sub")


@rule("GV125", "rows-written-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that loses values so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if name_of(call) != "setitem" or len(call.inputs) != 3 or call.site in told:
            continue
        rows, index, values = call.inputs
        if _names_twice(index) and _is_sum(history, call):
            told.add(call.site)
            yield _hit(history, call, rows, index, values)


def _names_twice(index: Value) -> bool:
    """Return whether there are more entries than different numbers among them."""
    scan = index.summary
    if not index.dtype.startswith("int") or scan is None or scan.minimum is None:
        return False
    return scan.count > (scan.maximum or 0) - scan.minimum + 1


def _is_sum(history: History, call: Call) -> bool:
    """Return whether what is written are the same rows, with something added."""
    rows, index, values = call.inputs
    added = history.last_producer(values, call.index)
    if added is None or plain(added.op) not in _ADDING or not added.inputs:
        return False
    read = history.producer(added.inputs[0], added.index)
    if read is None or name_of(read) != "getitem":
        return False
    return [each.tensor for each in read.inputs] == [rows.tensor, index.tensor]


def _hit(history: History, call: Call, rows: Value, index: Value, values: Value) -> Hit:
    count = index.summary.count if index.summary is not None else 0
    row = history.text(call.site).partition("[")[0] or "rows"
    name = history.name(rows, f"`{row}`")
    return Hit(
        f"`{history.text(call.site)}` reads rows of {name}, adds to them and writes "
        f"them back, and {history.name(index, 'its index')} names some rows more than "
        f"once (it has {count} entries): of several values for one row only one "
        "stays.",
        call.site,
        f"Write `{row} = {row}.index_add(0, index, values)`, which adds them all.",
        symptom=call.site,
        tensors=(rows.tensor, index.tensor),
        severity=None if values.requires_grad else "info",
        certainty=0.9,
        edit=rows_added(call.site),
    )
