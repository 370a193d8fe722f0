"""GV104 inplace-recurrent-buffer: a loop fills the tensor that its steps have saved.

What it does
    Finds a line that writes into one buffer again and again, while operations between
    the writes saved parts of it.

Why is this bad
    Step t saves row t-1 of the buffer for its derivative; writing row t raises the
    version of the whole buffer, and the backward pass refuses.

Example
    for t in range(1, steps):
        h[t] = h[t - 1] * w

Use instead
    states = [h0]
    for t in range(1, steps):
        states.append(states[-1] * w)
    h = torch.stack(states)

When it stays quiet
    When the rows are only read after the loop, or the operations in the loop save
    nothing of the buffer: ``out[t] = cell(x[t])`` is fine.

References
    PyTorch notes: Autograd mechanics, "In-place correctness checks".
"""

from __future__ import annotations

from gradviz.diagnosis._saved_writes import (
    Overwrite,
    needed_words,
    overwrite_rule,
    version_words,
    written_tensor,
)
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import place, tensor_words
from gradviz.diagnosis.edits.writes import reads_copies
from gradviz.program import History


def _message(history: History, found: Overwrite) -> str:
    call, write = found.by
    writes = history.writes(write.storage, before=found.backward.index)
    times = sum(each.site == call.site for each, _ in writes)
    buffer = tensor_words(history, written_tensor(call, write))
    return (
        f"{place(history, found.site)} writes into {buffer} {times} times, so "
        f"backward() refuses: {needed_words(history, found)}, and all views of a "
        "buffer share one version counter, so a later write to any part of it counts "
        f"{version_words(found)}."
    )


def _fix(history: History, found: Overwrite) -> str:
    written = written_tensor(*found.by)
    bases = [base for _, base in ancestors(history, written)]
    buffer = tensor_words(history, [written, *bases][-1])
    fix = f"Put `.clone()` after each read of {buffer}, to compute with copies."
    whole = _is_saved_whole(history, found)
    return f"{fix} Let the buffer be a copy, too." if whole else fix


def _is_saved_whole(history: History, found: Overwrite) -> bool:
    """Return whether the node that made the buffer has saved it: ``m = a.exp()``."""
    return any(
        saved.value.storage == found.value.storage
        for node in history.program.nodes.values()
        for saved in node.saved
        if "result" in saved.slot or "output" in saved.slot
    )


RULE = overwrite_rule(
    "GV104",
    "inplace-recurrent-buffer",
    "recurrent",
    _message,
    _fix,
    edit=lambda history, found: reads_copies(
        found.site, first=_is_saved_whole(history, found)
    ),
)
