"""GV121 reshape-silently-copies: a reshape was a copy, and the write to it was lost.

What it does
    Finds ``reshape``, ``flatten`` and ``ravel`` calls that had to copy, whose result
    was written in place and then never read, while the original was.

Why is this bad
    The same call returns a view of a contiguous tensor and a copy of a transposed one.
    A write to the view changes the original, a write to the copy does not, and nothing
    says which of the two it was.

Example
    x = torch.zeros(2, 3).t()
    x.reshape(6)[0] = 1.0
    print(x.sum())

Use instead
    x[0, 0] = 1.0

When it stays quiet
    When the original is not read again. When the copy is used, too, as in
    ``h = x.t().reshape(6); h += 1; f(h)``, it is an information, not a warning.

References
    PyTorch documentation: torch.reshape, torch.Tensor.view, Tensor Views.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import assigned, place, tensor_words
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_LOOKS = frozenset(["size", "dim", "stride", "numel", "data_ptr", "is_contiguous"])
_COMPARES = frozenset(["eq", "ne", "equal", "allclose", "isclose", "__eq__", "__ne__"])
_RESHAPES = frozenset(["reshape", "flatten", "ravel", "reshape_as"])


@rule("GV121", "reshape-silently-copies", "warning")
def check(history: History) -> Iterator[Hit]:
    told: set[RawSite | None] = set()
    for call in history.calls:
        if call.op not in _RESHAPES or not call.inputs or not call.outputs:
            continue
        original, copy = call.inputs[0], call.outputs[0]
        if copy.storage == original.storage or call.site in told:
            continue
        writes = [each for each, _ in history.writes(copy.storage, after=call.index)]
        if not writes:
            continue
        last, write = history.once(_last_reads), writes[-1]
        mine = _names(history, [call])
        others = _names(history, _makers(history, original)) - mine
        read = last.get(original.storage, -1) > write.index
        if read or _is_named_below(history, others, write):
            told.add(call.site)
            used = last.get(copy.storage, -1) > write.index
            used = used or _is_named_below(history, mine, write)
            yield _hit(history, call, writes[0], used=used)


def _last_reads(history: History) -> dict[int, int]:
    """Return the last call, by index, that read elements of each storage.

    Views read none, and neither do comparisons of a copy with its original.
    """
    found: dict[int, int] = {}
    for call in history.calls:
        storages = {each.storage for each in call.inputs}
        made = {each.storage for each in call.outputs}
        if call.op.endswith(".get") or call.op in _LOOKS or storages & made:
            continue
        if call.op in _COMPARES and len(storages) > 1:
            continue
        for storage in storages - {write.storage for write in call.writes}:
            found[storage] = call.index
    return found


def _makers(history: History, value: Value) -> Iterator[Call | None]:
    """Yield the calls that made a tensor and what it is a view of."""
    yield history.producer(value)
    for _, base in ancestors(history, value):
        yield history.producer(base)


def _names(history: History, calls: Iterable[Call | None]) -> set[str]:
    """Return the names that the results of calls were given."""
    sites = [call.site for call in calls if call is not None and call.site is not None]
    found = {assigned(history, site) for site in sites}
    return {name for name in found if name is not None}


def _is_named_below(history: History, names: set[str], write: Call) -> bool:
    """Is any of these tensors printed, returned or kept in a line below a write?"""
    if not names or write.site is None:
        return False
    code, file = write.site[0], write.site[0].co_filename
    scope = history.places.function(code) or history.places.tree(file)
    below = history.places.line(write.site)
    for parent in ast.walk(scope or ast.Module([], [])):
        if isinstance(parent, ast.Subscript | ast.Attribute | ast.Compare):
            continue
        for each in ast.iter_child_nodes(parent):
            if (
                isinstance(each, ast.Name)
                and each.id in names
                and isinstance(each.ctx, ast.Load)
                and each.lineno > below
            ):
                return True
    return False


def _hit(history: History, call: Call, write: Call, *, used: bool) -> Hit:
    original, copy = call.inputs[0], call.outputs[0]
    name = tensor_words(history, original)
    return Hit(
        f"{place(history, call.site)} had to copy: {name} has shape "
        f"{list(original.shape)} and strides {list(original.strides)}, which no view "
        f"of shape {list(copy.shape)} can describe. {place(history, write.site)} wrote "
        f"the copy{'' if used else ', which is not read afterwards'}; {name} did not "
        "change.",
        call.site,
        "Write to the original (`x[...] = ...`); or keep the result and use it. view() "
        "instead of reshape() raises an error where it cannot share memory.",
        symptom=write.site,
        related=(Related("written here", write.site),),
        tensors=(original.tensor, copy.tensor),
        severity="info" if used else "warning",
        certainty=0.4 if used else 0.7,
    )
