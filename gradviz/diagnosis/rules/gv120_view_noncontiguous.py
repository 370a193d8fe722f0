"""GV120 view-noncontiguous: ``view()`` of a tensor whose elements are not in order.

What it does
    Finds the ``view`` that was refused, the operation that put the elements out of
    order, and the dimensions that cannot be merged.

Why is this bad
    ``view`` never copies. After ``t()``, ``transpose``, ``permute``, ``expand`` or a
    slice of columns, no strides can describe the wanted shape.

Example
    h = x.t()
    flat = h.view(6)

Use instead
    flat = h.reshape(6)

When it stays quiet
    When the view can be described with strides, or ``reshape`` or ``contiguous()`` is
    used.

References
    PyTorch documentation: torch.Tensor.view, torch.reshape, torch.Tensor.contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._memory import is_contiguous
from gradviz.diagnosis._refused import hit, refused, subject
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import code, place
from gradviz.diagnosis.edits.calls import renamed
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, Value

TEXT = "view size is not compatible with input tensor's size and stride"


@rule("GV120", "view-noncontiguous", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, viewed, _ in refused(history, TEXT):
        made = _reordered(history, viewed)
        since = f" since {place(history, made.site)}" if made is not None else ""
        facts = ""
        if viewed is not None:
            facts = (
                f" of shape {list(viewed.shape)} has strides {list(viewed.strides)}"
                f"{since}, so it is not contiguous: {_gaps(viewed)}"
            )
        text = code(history, failure.site)
        yield hit(
            failure,
            f"{subject(history, viewed)}{facts}. {place(history, failure.site)} asks "
            "for a shape that no strides can describe, and view() never copies.",
            f"Use reshape, which copies where it must: "
            f"`{text.replace('.view(', '.reshape(')}`."
            if ".view(" in text
            else "Use reshape or contiguous(), which copy where they must.",
            related=[Related("reordered here", None if made is None else made.site)],
            written=viewed,
            edit=renamed(failure.site, {"view": "reshape"}, safe=True),
        )


def _reordered(history: History, viewed: Value | None) -> Call | None:
    """Return the call after which the elements were out of order."""
    if viewed is None:
        return None
    for call, base in ancestors(history, viewed):
        if is_contiguous(base):
            return call
    return history.producer(viewed)


def _gaps(viewed: Value) -> str:
    """Name the neighbouring dimensions that cannot be merged into one."""
    sizes, strides = viewed.shape, viewed.strides
    apart = [
        f"{left} and {left + 1}"
        for left in range(len(sizes) - 1)
        if strides[left] != strides[left + 1] * sizes[left + 1]
    ]
    if not apart:
        return "its elements are not side by side"
    return f"dimensions {', '.join(apart)} cannot be merged without a copy"
