"""GV124 overlapping-operands: an operation reads the memory that it writes, shifted.

What it does
    Finds the in-place operation, or the ``out=``, that was refused because its input
    and its output overlap in part. PyTorch looks only at tensors without gaps: finds
    also those it lets pass, as ``x[:, 1:] = x[:, :-1]``, where elements are read after
    they were overwritten.

Why is this bad
    Some elements would be read after they were overwritten: the result would depend on
    the order in which the elements are computed.

Example
    x[1:] += x[:-1]

Use instead
    x[1:] += x[:-1].clone()

When it stays quiet
    When both are the same elements (``x += x``) or have none in common; where what is
    read lies behind what is written, as in ``x[:, :-1] = x[:, 1:]``, which comes out
    right.

References
    PyTorch documentation: torch.Tensor.clone.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._memory import numel, overlap
from gradviz.diagnosis._refused import hit, refused, subject
from gradviz.diagnosis._words import place, tensor_words
from gradviz.diagnosis.edits.writes import reads_copy
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import Call, History, RawSite, Value
from gradviz.text.words import counted

_MOST = 200_000  # elements that are compared one by one
_FIX = "Read from a copy: clone() the operand that is read."
TEXT = "some elements of the input tensor and the written-to tensor refer to a single"


@rule("GV124", "overlapping-operands", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per refusal, and one per line that overwrites what it reads."""
    for failure, written, _ in refused(history, TEXT):
        inputs = () if failure.call is None else failure.call.inputs
        read = _read(written, inputs)
        other = "one of its inputs" if read is None else tensor_words(history, read)
        yield hit(
            failure,
            f"{place(history, failure.site)} writes {subject(history, written)} while "
            f"it reads {other}: they share some of their memory, so elements would be "
            "read after they were overwritten.",
            _FIX,
            written=written,
            edit=reads_copy(failure.site, _place_of(read, failure.call)),
        )
    if history.program.engine == "torch":
        yield from _unnoticed(history)


def _unnoticed(history: History) -> Iterator[Hit]:
    """Yield a hit for each line that wrote what it was about to read."""
    told = set[RawSite | None]()
    for call in history.calls:
        for write in call.writes if call.error is None else ():
            read = _read(write.value, call.inputs)
            if call.site in told or read is None or not _runs_ahead(write.value, read):
                continue
            told.add(call.site)
            behind = counted(write.value.offset - read.offset, "element")
            yield Hit(
                f"{place(history, call.site)} writes elements that it reads "
                f"afterwards: what it writes lies {behind} behind what it reads, in "
                "the same memory. The first elements are repeated instead of moved, "
                "and nothing raises.",
                call.site,
                _FIX,
                symptom=call.site,
                tensors=(read.tensor,),
                severity="warning",
                edit=reads_copy(call.site, _place_of(read, call)),
            )


def _place_of(read: Value | None, call: Call | None) -> int | None:
    """Return which argument of a call is read, if it stands among them by place."""
    arguments = () if call is None else call.arguments
    found = (at for at, each in enumerate(arguments) if each is read)
    return None if read is None else next(found, None)


def _runs_ahead(written: Value, read: Value) -> bool:
    """Tell whether elements are written, in the order of memory, before they are read.

    Both must lie alike, or their order is not known.
    """
    alike = (written.shape, written.strides) == (read.shape, read.strides)
    known = numel(written) <= _MOST and all(each > 0 for each in written.strides)
    return alike and known and read.offset < written.offset


def _read(written: Value | None, inputs: tuple[Value, ...]) -> Value | None:
    for each in inputs:
        if (
            written is not None
            and each.tensor != written.tensor
            and each.storage == written.storage
            and each.offset != written.offset
            and overlap(each, written)
        ):
            return each
    return None
