"""GV124 overlapping-operands: an operation reads the memory that it writes, shifted.

What it does
    Finds the in-place operation, or the ``out=``, that was refused because its input
    and its output overlap in part.

Why is this bad
    Some elements would be read after they were overwritten: the result would depend on
    the order in which the elements are computed.

Example
    x[1:] += x[:-1]

Use instead
    x[1:] += x[:-1].clone()

When it stays quiet
    When both are the same elements (``x += x``) or have none in common.

References
    PyTorch documentation: torch.Tensor.clone.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._memory import overlap
from gradviz.diagnosis._refused import hit, refused, subject
from gradviz.diagnosis._words import place, tensor_words
from gradviz.diagnosis.edits.writes import reads_copy
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History, Value

TEXT = "some elements of the input tensor and the written-to tensor refer to a single"


@rule("GV124", "overlapping-operands", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, written, _ in refused(history, TEXT):
        inputs = () if failure.call is None else failure.call.inputs
        read = _read(written, inputs)
        other = "one of its inputs" if read is None else tensor_words(history, read)
        yield hit(
            failure,
            f"{place(history, failure.site)} writes {subject(history, written)} while "
            f"it reads {other}: they share some of their memory, so elements would be "
            "read after they were overwritten.",
            "Read from a copy: clone() the operand that is read.",
            written=written,
            edit=reads_copy(failure.site),
        )


def _read(written: Value | None, inputs: tuple[Value, ...]) -> Value | None:
    for each in inputs:
        if (
            written is not None
            and each.tensor != written.tensor
            and each.storage == written.storage
            and overlap(each, written)
        ):
            return each
    return None
