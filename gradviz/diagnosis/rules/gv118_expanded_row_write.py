"""GV118 expanded-row-write: writing one row of an expanded tensor wrote all rows.

What it does
    Finds writes to a part of a tensor with stride 0, where the written elements are
    also elements of other rows. The line that expanded it is to change.

Why is this bad
    ``expand`` and ``broadcast_to`` copy nothing: all rows are the same memory. Writing
    one row changes all of them, and the source, without an error.

Example
    state = torch.zeros(1, 2).expand(3, 2)
    state[0] = 5.0

Use instead
    state = torch.zeros(1, 2).repeat(3, 1)
    state[0] = 5.0

When it stays quiet
    When expanded tensors are only read, when a clone is written, and when the source
    itself is written.

References
    PyTorch documentation: torch.Tensor.expand (the note on in-place operations),
    torch.Tensor.repeat.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._memory import cells, numel
from gradviz.diagnosis._shared_cells import SharedWrite, shared_writes
from gradviz.diagnosis._words import place, tensor_words
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.writes import EXPANDING, copied_first, copies
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

_OWN = (
    "Append `.clone()` to the expand, so that each row has a place of its own; or use "
    "`.repeat(...)` instead of it."
)


def message(history: History, found: SharedWrite) -> str:
    """Say which elements of which tensor changed together."""
    whole = found.whole
    since = ""
    if found.made is not None:
        since = f" since {place(history, found.made.site)}"
    count = numel(found.write.value)
    part = (
        ""
        if count == numel(whole)
        else f"{count} element{'' if count == 1 else 's'} of "
    )
    return (
        f"{place(history, found.call.site)} writes {part}"
        f"{tensor_words(history, whole)}, whose {numel(whole)} elements (shape "
        f"{list(whole.shape)}, strides {list(whole.strides)}) lie in only "
        f"{len(cells(whole))} places of memory{since}. Other elements changed with "
        "them."
    )


@rule("GV118", "expanded-row-write", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that writes so; the line that expanded is to change."""
    for found in shared_writes(history):
        if found.expanded:
            made = None if found.made is None else found.made.site
            written = found.call.site
            yield Hit(
                message(history, found),
                made or written,
                _OWN,
                symptom=written,
                related=(Related("written here", written),),
                tensors=(found.whole.tensor,),
                edit=first_of(copies(made, *EXPANDING), copied_first(written)),
            )
