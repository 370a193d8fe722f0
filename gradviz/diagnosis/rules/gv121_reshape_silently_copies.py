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
    When the reshaped tensor is read after the write, as in
    ``h = x.t().reshape(6); h += 1; f(h)``, and when the original is not read again.

References
    PyTorch documentation: torch.reshape, torch.Tensor.view, Tensor Views.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._words import place, tensor_words
from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.program.events import Call
from gradviz.program.history import History
from gradviz.program.values import Value

_RESHAPES = frozenset(["reshape", "flatten", "ravel", "reshape_as"])


def _check(history: History) -> Iterator[Hit]:
    for call in history.calls:
        if call.op not in _RESHAPES or not call.inputs or not call.outputs:
            continue
        original, copy = call.inputs[0], call.outputs[0]
        if copy.storage == original.storage:
            continue
        writes = [each for each, _ in history.writes(copy.storage, after=call.index)]
        if writes and _lost(history, original, copy, writes[-1]):
            yield _hit(history, call, writes[0])


def _lost(history: History, original: Value, copy: Value, write: Call) -> bool:
    """Was the copy not read after its last write, and the original was?"""
    reads = [
        {value.storage for value in call.inputs}
        for call in history.calls
        if call.index > write.index and not _only_looks(call)
    ]
    return any(original.storage in each for each in reads) and not any(
        copy.storage in each for each in reads
    )


def _only_looks(call: Call) -> bool:
    """Is this an attribute or a method that reads no element?"""
    return call.op.endswith(".get") or call.op in ("size", "dim", "stride", "data_ptr")


def _hit(history: History, call: Call, write: Call) -> Hit:
    original, copy = call.inputs[0], call.outputs[0]
    name = tensor_words(history, original)
    return Hit(
        f"{place(history, call.site)} had to copy: {name} has shape "
        f"{list(original.shape)} and strides {list(original.strides)}, which no view "
        f"of shape {list(copy.shape)} can describe. {place(history, write.site)} wrote "
        f"the copy, which is not read afterwards; {name} did not change.",
        call.site,
        "Write to the original (`x[...] = ...`); or keep the result and use it. view() "
        "instead of reshape() raises an error where it cannot share memory.",
        symptom=write.site,
        related=(Related("written here", write.site),),
        tensors=(original.tensor, copy.tensor),
        certainty=0.7,
    )


RULE = Rule("GV121", "reshape-silently-copies", "warning", _check)
