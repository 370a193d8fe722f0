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

from gradviz.dependence.lineage import behind
from gradviz.dependence.modes import decorator_line, switched_off
from gradviz.diagnosis._raised import Failure
from gradviz.diagnosis._refused import base_words, hit, refused, subject
from gradviz.diagnosis._words import place
from gradviz.diagnosis.edits.statements import undecorated
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, RawSite

MODES = ("no_grad", "inference")


@rule("GV114", "no-grad-view-inplace", "error")
def check(history: History) -> Iterator[Hit]:
    for mode in MODES:
        text = f"A view was created in {mode}"
        for failure, written, made in refused(history, text, "modified inplace"):
            of_base = base_words(history, written)
            where = "no_grad" if mode == "no_grad" else "inference mode"
            site, line = _view_to_record(history, failure)
            yield hit(
                failure,
                f"{place(history, failure.site)} writes {subject(history, written)}"
                f"{of_base} under {where}, while grad mode is on. The view has no "
                "history, its base has one: whether to record the write is ambiguous, "
                "so it is refused.",
                _fix(site, line),
                culprit=site,
                line=line,
                related=[Related("view made here", made and made.site)],
                written=written,
                edit=undecorated(site, line) if line is not None else None,
            )


def _view_to_record(
    history: History, failure: Failure
) -> tuple[RawSite | None, int | None]:
    """Return what takes the history from a view that a result with a graph goes into.

    Written without gradients, the result would lose its graph: so the view is to
    change, or the decorator of the function that makes it, and not the write.
    """
    write = failure.call
    if write is None or not any(each.requires_grad for each in write.inputs[1:]):
        return None, None
    views = behind(history, write.inputs[0], write.index)
    made = next((each for each in views if not each.grad_enabled), None)
    if made is None:
        return None, None
    switch = switched_off(history, made)
    line = None if switch is None else decorator_line(history, switch)
    if switch is None or switch.function is None or line is None:
        return made.site, None
    return (switch.function, 0), line


def _fix(site: RawSite | None, line: int | None) -> str:
    if site is None:
        return (
            "Make the view outside of the block, so that the write is recorded; or "
            "write inside it, so that it is not. For an independent copy: clone()."
        )
    what = "Make the view outside of the block"
    if line is not None:
        what = f"Take the decorator away from `{site[0].co_qualname}`"
    return f"{what}: what is written has a graph, and is to be recorded."
