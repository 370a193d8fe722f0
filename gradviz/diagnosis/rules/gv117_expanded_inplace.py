"""GV117 expanded-inplace: a tensor whose elements share memory was written.

What it does
    Finds the in-place operation that was refused because several elements of the
    tensor are one place in memory, and the ``expand`` that made it so.

Why is this bad
    ``expand`` and ``broadcast_to`` copy nothing: with a stride of 0, all rows are one.
    What such a write would leave behind depends on its order.

Example
    mask = torch.zeros(1, 3).expand(2, 3)
    mask += offsets

Use instead
    mask = torch.zeros(1, 3).repeat(2, 1)
    mask += offsets

When it stays quiet
    When expanded tensors are only read.

References
    PyTorch documentation: torch.Tensor.expand (the note on in-place operations),
    torch.Tensor.repeat.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._memory import cells, numel, repeats
from gradviz.diagnosis._refused import hit, hook_around, refused, subject
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import place
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.writes import EXPANDING, copied_first, copies
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, Value

TEXT = "more than one element of the written-to tensor refers to a single memory"


def expansion(history: History, written: Value | None) -> Call | None:
    """Return the call after which elements of a tensor began to share memory."""
    for call, base in () if written is None else ancestors(history, written):
        if not repeats(base):
            return call
    return None


def layout(value: Value | None) -> str:
    """Return " (12 elements of shape [3, 4], strides [0, 1], in 4 places)"."""
    if value is None:
        return ""
    return (
        f" ({numel(value)} elements of shape {list(value.shape)}, strides "
        f"{list(value.strides)}, in {len(cells(value))} places of memory)"
    )


@rule("GV117", "expanded-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, written, _ in refused(history, TEXT):
        if hook_around(history, failure) is not None:
            continue  # GV122 tells this one
        made = expansion(history, written)
        since = f" since {place(history, made.site)}" if made is not None else ""
        yield hit(
            failure,
            f"{place(history, failure.site)} writes {subject(history, written)}"
            f"{layout(written)}: several of its elements are one place in memory"
            f"{since}, so the write is refused.",
            "Copy before writing: `.clone()` after the expand, or `.repeat(...)` "
            "instead of it; or use the operation that returns a new tensor.",
            related=[Related("expanded here", None if made is None else made.site)],
            written=written,
            edit=first_of(
                copies(made and made.site, *EXPANDING), copied_first(failure.site)
            ),
        )
