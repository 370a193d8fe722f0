"""GV110 numpy-alias-write: a saved tensor was overwritten from outside the engine.

What it does
    Finds saved memory whose contents changed although no recorded operation wrote it,
    then the line that wrote an array which shares that memory. Of a function that fills
    a buffer and shares it at each run, the line that shares it.

Why is this bad
    ``.numpy()``, ``from_numpy`` and DLPack copy nothing. A write to the array changes
    the tensor, and no version counter notices: there is no error, and the gradient is
    wrong.

Example
    loss = (h ** 2).sum()
    arr = h.detach().numpy()
    arr[:] = 0.0
    loss.backward()

Use instead
    arr = h.detach().numpy().copy()

When it stays quiet
    When arrays are only read, are copies, or are written after the backward pass.

References
    PyTorch documentation: torch.Tensor.numpy, torch.from_numpy,
    torch.utils.dlpack.from_dlpack.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from gradviz.diagnosis._array_writes import (
    ArrayWrite,
    Tracker,
    export_names,
    writes_itself,
)
from gradviz.diagnosis._unseen_writes import UnseenWrite, exports, silent_changes
from gradviz.diagnosis._words import node_words, place, tensor_words
from gradviz.diagnosis.edits.calls import renamed
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.writes import copies
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, Event, History, RawSite


@rule("GV110", "numpy-alias-write", "error")
def check(history: History) -> Iterator[Hit]:
    told: set[RawSite | None] = set()
    for found in silent_changes(history):
        if found.node.site not in told:
            told.add(found.node.site)
            yield _hit(history, found)


def _hit(history: History, found: UnseenWrite) -> Hit:
    handed_out = exports(history, found.value.storage, found.backward.index)
    site, line = _writer(history, found, handed_out)
    export = handed_out[-1] if handed_out else None
    shared = (
        ""
        if export is None
        else f" {place(history, export.site)} shares that memory with an array."
    )
    known = site is not None
    if site is None:
        site = found.node.site if export is None else export.site
    blamed = export.site if export and _refills(history, site, export) else site
    who = f"{place(history, site)} wrote it" if known else "Something else wrote it"
    fix = (
        "Give the array memory of its own, `.detach().numpy().copy()` (or "
        "`torch.tensor(array)` for from_numpy), or write after the backward pass."
    )
    return Hit(
        f"The gradient that {place(history, found.backward.site)} computes is wrong, "
        f"without an error: {node_words(history, found.node)} needs the old numbers of "
        f"{tensor_words(history, found.value)}, and they were overwritten "
        f"before.{shared} {who}, which autograd does not notice.",
        blamed,
        fix,
        symptom=found.backward.site,
        related=(
            Related("shared here", None if export is None else export.site),
            Related("saved here", found.node.site),
        ),
        nodes=(found.node.key,),
        tensors=(found.value.tensor,),
        line=line if blamed == site else None,
        edit=None
        if export is None
        else first_of(
            copies(export.site, "numpy", suffix=".copy()"),
            renamed(export.site, {"from_numpy": "tensor"}),
        ),
        certainty=1.0 if known else 0.7,
    )


def _refills(history: History, site: RawSite | None, export: Call) -> bool:
    """Tell whether a function fills a buffer, and then hands it out, at each run."""
    shared = export.site
    function = None if shared is None else history.places.function(shared[0])
    if site is None or shared is None or function is None or site[0] is not shared[0]:
        return False
    return function.lineno < history.places.line(site) < history.places.line(shared)


# ---- who wrote ----------------------------------------------------------------------


def _writer(
    history: History, found: UnseenWrite, handed_out: list[Call]
) -> tuple[RawSite | None, int | None]:
    for export in reversed(handed_out):
        for site in export.frames:
            writes = _writes_from(history, site)
            best = _between(history, found, site, writes)
            if best is not None:
                return history.places.at_line(site[0], best.line), best.line
            if not isinstance(history.places.statement(site), ast.Return):
                break  # only a returned array lives on in the caller
    return _foreign_tensor(history, found)


def _writes_from(history: History, site: RawSite) -> list[ArrayWrite]:
    """Return the statements that write the array which a site exports."""
    statement = history.places.statement(site)
    tree = history.places.tree(site[0].co_filename)
    if statement is None or tree is None:
        return []
    if writes_itself(statement):
        return [ArrayWrite(statement.lineno, statement.lineno)]
    marked = history.places.site(site)
    names = export_names(statement, marked.line, (marked.column or 1) - 1)
    found = list(Tracker(tree, names).writes(history.places.function(site[0]) or tree))
    if found or not any("." in name for name in names):
        return found
    return [  # an attribute: any function of the file may write it
        write
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for write in Tracker(tree, names).writes(function)
    ]


def _between(
    history: History, found: UnseenWrite, site: RawSite, writes: list[ArrayWrite]
) -> ArrayWrite | None:
    """Return the first of the writes that can have run in the interval."""
    low = _line_in(history, site[0], history.at(found.after))
    high = _line_in(history, site[0], found.backward)
    fits = [
        write
        for write in writes
        if low is None or high is None or _runs(write.called_from, low, high)
    ]
    if low is not None and high is not None and low > high:  # around a loop
        fits.sort(key=lambda write: write.called_from < low)
    return (fits or writes or [None])[0]


def _runs(line: int, low: int, high: int) -> bool:
    return low <= line <= high if low <= high else line >= low or line <= high


def _line_in(history: History, code: CodeType, event: Event | None) -> int | None:
    """Return the line of a function that was running at an event."""
    for site in () if event is None else event.frames:
        if site[0] is code:
            return history.places.line(site)
    return None


def _foreign_tensor(
    history: History, found: UnseenWrite
) -> tuple[RawSite | None, int | None]:
    """Look for a write to a tensor that was made from foreign memory."""
    foreign = {
        value.storage
        for call in history.calls
        if call.op in ("from_numpy", "from_dlpack", "as_tensor", "frombuffer")
        for value in call.outputs
    }
    for call in history.calls:
        if found.after < call.index < found.backward.index and any(
            write.storage in foreign for write in call.writes
        ):
            line = None if call.site is None else history.places.line(call.site)
            return call.site, line
    return None, None
