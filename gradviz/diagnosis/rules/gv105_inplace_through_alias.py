"""GV105 inplace-through-alias: a saved tensor was overwritten under another name.

What it does
    Finds a write to a view (or to the base of a view) whose memory an operation saved
    under another name.

Why is this bad
    ``view``, ``reshape``, slicing, ``t()`` and ``squeeze`` give the same memory a
    second name. A write through one name changes what the other one saved.

Example
    flat = h.view(-1)
    out = h * h
    flat.zero_()
    out.sum().backward()

Use instead
    flat = torch.zeros_like(h.view(-1))

When it stays quiet
    When the two tensors do not share memory, as after ``clone()``, and when the
    backward pass ran.

References
    PyTorch documentation: Tensor Views.
    PyTorch notes: Autograd mechanics, "In-place correctness checks".
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._memory import numel
from gradviz.diagnosis._overwrite_words import (
    hits,
    rewrite_words,
    saved_words,
    write_words,
)
from gradviz.diagnosis._saved_writes import Overwrite, written_tensor
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import place, tensor_words
from gradviz.diagnosis.rule import Hit, Rule
from gradviz.program.history import History


def _message(history: History, found: Overwrite) -> str:
    assert found.call is not None
    assert found.write is not None
    written = written_tensor(found.call, found.write)
    views = [call for call, _ in ancestors(history, written)]
    since = f" since {place(history, views[0].site)}" if views else ""
    return (
        f"{saved_words(history, found)}. {write_words(history, found)}, through "
        f"{tensor_words(history, written)}: the two names are one memory{since} "
        f"({numel(written)} elements), so backward() cannot use the saved value."
    )


def _fix(history: History, found: Overwrite) -> str:
    return (
        f"{rewrite_words(history, found)} Or separate the two names: clone() where the "
        "view is made."
    )


def _check(history: History) -> Iterator[Hit]:
    yield from hits(history, "alias", _message, _fix)


RULE = Rule("GV105", "inplace-through-alias", "error", _check)
