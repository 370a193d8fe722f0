"""GV106 detach-shares-storage: a saved tensor was overwritten through its detach().

What it does
    Finds a write to the result of ``detach()`` whose memory an operation had saved.

Why is this bad
    ``detach()`` copies nothing: it gives the same memory without the graph. Writing to
    it overwrites what the graph saved; autograd sees the version change and refuses.

Example
    y = x.sigmoid()
    shown = y.detach()
    shown[shown < 0.5] = 0
    y.sum().backward()

Use instead
    shown = y.detach().clone()

When it stays quiet
    When the detached tensor is only read, was cloned, or is written after backward.

References
    PyTorch documentation: torch.Tensor.detach, torch.Tensor.clone.
"""

from __future__ import annotations

from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    overwritten_words,
    written_tensor,
)
from gradviz.diagnosis._views import through
from gradviz.diagnosis._words import code, place, tensor_words
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.edits.writes import copies
from gradviz.diagnosis.rule import Related
from gradviz.program import Call, History


def _detached(history: History, found: Overwrite) -> str:
    call = _detach(history, found)
    return place(history, None if call is None else call.site)


def _detach(history: History, found: Overwrite) -> Call | None:
    return through(history, written_tensor(*found.by), "detach")


def _message(history: History, found: Overwrite) -> str:
    written = tensor_words(history, written_tensor(*found.by))
    return (
        f"{overwritten_words(history, found)}. It is written through {written}: "
        f"{_detached(history, found)} shares the memory of the "
        "tensor it was detached from."
    )


def _fix(history: History, found: Overwrite) -> str:
    call = _detach(history, found)
    site = None if call is None else call.site
    line = code(history, site)
    copied = line.replace(".detach()", ".detach().clone()")
    if line.count(".detach()") != 1 or line.endswith("…"):
        return (
            "Copy what is going to be written: `.detach().clone()` in place of "
            f"{_detached(history, found)}."
        )
    return f"Copy what is going to be written: `{copied}` in {history.line(site)}."


def _detached_here(history: History, found: Overwrite) -> Related:
    call = _detach(history, found)
    return Related("detached here", None if call is None else call.site)


def _copied(history: History, found: Overwrite) -> Remedy | None:
    call = _detach(history, found)
    return None if call is None else copies(call.site, "detach")


RULE = overwrite_rule(
    "GV106",
    "detach-shares-storage",
    "detached",
    _message,
    _fix,
    _detached_here,
    edit=_copied,
)
