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
from collections.abc import Iterator

from gradviz.diagnosis._words import assigned, place, tensor_words
from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.program.events import Call
from gradviz.program.history import History
from gradviz.program.values import RawSite

_LOOKS = frozenset(["size", "dim", "stride", "numel", "data_ptr", "is_contiguous"])
_COMPARES = frozenset(["eq", "ne", "equal", "allclose", "isclose", "__eq__", "__ne__"])
_RESHAPES = frozenset(["reshape", "flatten", "ravel", "reshape_as"])


def _check(history: History) -> Iterator[Hit]:
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
        last = history.once(_last_reads)
        if last.get(original.storage, -1) > writes[-1].index:
            told.add(call.site)
            used = last.get(copy.storage, -1) > writes[-1].index
            used = used or _handed_on(history, call, writes[-1])
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


def _handed_on(history: History, call: Call, write: Call) -> bool:
    """Is the copy printed, returned or kept in a line below its last write?"""
    name = None if call.site is None else assigned(history, call.site)
    if name is None or call.site is None or write.site is None:
        return False
    code, file = call.site[0], call.site[0].co_filename
    scope = history.places.function(code) or history.places.tree(file)
    below = history.places.line(write.site)
    for parent in ast.walk(scope or ast.Module([], [])):
        if isinstance(parent, ast.Subscript | ast.Attribute | ast.Compare):
            continue
        for each in ast.iter_child_nodes(parent):
            if (
                isinstance(each, ast.Name)
                and each.id == name
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


RULE = Rule("GV121", "reshape-silently-copies", "warning", _check)
