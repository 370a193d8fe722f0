"""GV114 no-grad-view-inplace: a view made under no_grad was written with grad mode on.

What it does
    Finds the in-place operation on a view that was made under ``no_grad()`` (or
    ``inference_mode()``) that autograd refused.

Why is this bad
    The view has no history, but its base has one. Whether the write is to be recorded
    is ambiguous, so autograd refuses it.

Example
    with torch.no_grad():
        v = h[:2]
    v.mul_(3)

Use instead
    v = h[:2]
    v.mul_(3)

When it stays quiet
    When view and write are both inside, or both outside of ``no_grad()``.

References
    PyTorch documentation: torch.no_grad, Tensor Views.
    PyTorch notes: Autograd mechanics, "Grad Modes".
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._refused import base_words, hit, refused, subject
from gradviz.diagnosis._words import place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

MODES = ("no_grad", "inference")


@rule("GV114", "no-grad-view-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for mode in MODES:
        text = f"A view was created in {mode}"
        for failure, written, made in refused(history, text, "modified inplace"):
            of_base = base_words(history, written)
            where = "no_grad" if mode == "no_grad" else "inference mode"
            yield hit(
                failure,
                f"{place(history, failure.site)} writes {subject(history, written)}"
                f"{of_base} under {where}, while grad mode is on. The view has no "
                "history, its base has one: whether to record the write is ambiguous, "
                "so it is refused.",
                "Make the view outside of the block, so that the write is recorded; or "
                "write inside it, so that it is not. For an independent copy: clone().",
                related=[Related("view made here", made and made.site)],
                written=written,
            )
