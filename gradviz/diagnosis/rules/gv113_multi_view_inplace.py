"""GV113 multi-view-inplace: one of several views from one call was written.

What it does
    Finds the in-place operation on a result of ``split``, ``chunk``, ``unbind`` or of
    iterating over a tensor, that autograd refused.

Why is this bad
    One node made all of these views. A write to one of them would have to replace the
    history of the base and of every sibling, which autograd does not support.

Example
    a, b = h.split(2)
    a.mul_(3)

Use instead
    a, b = h.split(2)
    a = a * 3

When it stays quiet
    When a view comes from a call with one result (``h[:2]``, ``narrow``), when the
    views are clones, or nothing requires grad.

References
    PyTorch documentation: torch.split, torch.chunk, torch.unbind, Tensor Views.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._refused import base_words, hit, refused, subject
from gradviz.diagnosis._rewrites import instead
from gradviz.diagnosis._words import place
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.writes import copied_first, out_of_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

TEXT = "is the output of a function that returns multiple views"


@rule("GV113", "multi-view-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, written, made in refused(history, TEXT):
        of_base = base_words(history, written)
        count = 0 if made is None else len(made.outputs)
        others = f" (one of {count} views)" if count > 1 else ""
        yield hit(
            failure,
            f"{place(history, failure.site)} writes {subject(history, written)}"
            f"{of_base}{others}. Views that one call returned together cannot be "
            "written in place while gradients are recorded.",
            instead(history, failure.site),
            related=[Related("views made here", None if made is None else made.site)],
            written=written,
            edit=first_of(
                out_of_place(failure.site, together=True), copied_first(failure.site)
            ),
        )
