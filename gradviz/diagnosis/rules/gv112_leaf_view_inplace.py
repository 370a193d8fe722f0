"""GV112 leaf-view-inplace: a part of a leaf was written with grad mode on.

What it does
    Finds the in-place operation on a view (a row, a slice, a reshape) of a leaf that
    requires grad, that autograd refused.

Why is this bad
    Writing a part of a leaf changes the leaf. Recorded, the write would make it the
    result of an operation. Updates and initialisations are not to be recorded.

Example
    weight = torch.zeros(3, 2, requires_grad=True)
    weight[0] = 1.0

Use instead
    with torch.no_grad():
        weight[0] = 1.0

When it stays quiet
    When the write is under ``torch.no_grad()``, or goes to a clone of the leaf.

References
    PyTorch notes: Autograd mechanics, "Setting requires_grad", "Locally disabling
    gradient computation".
    PyTorch documentation: Tensor Views.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._refused import base_words, hit, refused, subject
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import code, place
from gradviz.diagnosis.edits.writes import unrecorded
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

TEXT = "a view of a leaf Variable that requires grad is being used in an in-place"


@rule("GV112", "leaf-view-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for failure, written, made in refused(history, TEXT):
        name = subject(history, written)
        line = history.line(failure.site)
        of_base = base_words(history, written, line)
        bases = [] if written is None else list(ancestors(history, written))
        leaf = subject(history, bases[-1][1]) if bases else name
        if not bases and written is not None and written.is_leaf:
            name = f"a part of {name}"
        yield hit(
            failure,
            f"{place(history, failure.site)} writes {name}{of_base}"
            f"{'.' if leaf in name or leaf in of_base else f', and so of {leaf}.'} "
            f"{leaf} is a leaf that requires grad, and grad mode is on, so the write "
            "is refused.",
            "Switch recording off around the write: "
            f"`with torch.no_grad(): {code(history, failure.site)}`. If the write is "
            "part of the model, write to a clone() of the leaf.",
            related=[Related("view made here", made.site if made and bases else None)],
            written=written,
            edit=unrecorded(failure.site),
        )
