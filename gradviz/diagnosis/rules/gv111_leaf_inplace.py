"""GV111 leaf-inplace: a leaf that requires grad was written with grad mode on.

What it does
    Finds the in-place operation on a parameter, or on another leaf that requires grad,
    that autograd refused.

Why is this bad
    A leaf is where gradients are collected. Recorded, the write would make it the
    result of an operation, and the value that the gradient belongs to would be lost.
    Updates and initialisations are not to be recorded.

Example
    w -= lr * w.grad

Use instead
    with torch.no_grad():
        w -= lr * w.grad

When it stays quiet
    When the write is under ``torch.no_grad()``, or the leaf does not require grad.

References
    PyTorch notes: Autograd mechanics, "Setting requires_grad", "Locally disabling
    gradient computation".
    PyTorch documentation: torch.no_grad.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._refused import hit, refused, subject
from gradviz.diagnosis._words import code, place
from gradviz.diagnosis.edits.writes import unrecorded
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

TEXT = "a leaf Variable that requires grad is being used in an in-place operation"


@rule("GV111", "leaf-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, written, made in refused(history, TEXT):
        if f"a view of {TEXT}" in failure.text:
            continue  # GV112 tells this one
        name = subject(history, written)
        line = code(history, failure.site)
        made_at = None if made is None else made.site
        origin = f" (made by {place(history, made_at)})" if made_at else ""
        yield hit(
            failure,
            f"{name}{origin} is a leaf that requires grad, and grad mode is on: "
            f"{place(history, failure.site)} would make it the result of an operation, "
            "so it is refused.",
            f"Switch recording off around the write: `with torch.no_grad(): {line}`. "
            "Do not rebind the name to a new tensor instead: that one is no leaf and "
            "gets no .grad.",
            related=[Related("created here", made_at)],
            written=written,
            edit=unrecorded(failure.site),
        )
