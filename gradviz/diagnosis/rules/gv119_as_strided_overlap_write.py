"""GV119 as-strided-overlap-write: overlapping windows of a tensor were written.

What it does
    Finds writes through ``as_strided`` or ``unfold`` views in which one place in memory
    belongs to several elements.

Why is this bad
    PyTorch refuses such writes only where a stride is 0. With overlapping windows it
    writes, and what is left depends on the order: sums count some elements twice.

Example
    windows = x.as_strided((3, 2), (1, 1))
    windows.mul_(2)

Use instead
    windows = x.as_strided((3, 2), (1, 1)).clone()
    windows.mul_(2)

When it stays quiet
    When the windows do not overlap (``unfold`` with step >= size), are only read, or
    are copied before they are written.

References
    PyTorch documentation: torch.as_strided (the warning), torch.Tensor.unfold.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._shared_cells import shared_writes
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.writes import EXPANDING, copied_first, copies
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules.gv118_expanded_row_write import message
from gradviz.program import History


@rule("GV119", "as-strided-overlap-write", "warning")
def check(history: History) -> Iterator[Hit]:
    for found in shared_writes(history):
        if not found.expanded:
            yield Hit(
                message(history, found),
                found.call.site,
                "Copy before writing, `.clone()` after as_strided or unfold; to add "
                "windows back together, use `torch.nn.functional.fold` or `index_add`.",
                symptom=found.call.site,
                related=(Related("windows made here", found.made and found.made.site),),
                tensors=(found.whole.tensor,),
                edit=first_of(
                    copies(found.made and found.made.site, *EXPANDING),
                    copied_first(found.call.site),
                ),
            )
