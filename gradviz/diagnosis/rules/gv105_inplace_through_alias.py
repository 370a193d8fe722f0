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

import ast

from gradviz.diagnosis._memory import numel
from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    overwritten_words,
    rewrite_words,
    written_tensor,
)
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import place, tensor_words
from gradviz.program import History, RawSite


def _message(history: History, found: Overwrite) -> str:
    written, site = written_tensor(*found.by), _view_site(history, found)
    since = f" since {place(history, site)}" if site else ""
    return (
        f"{overwritten_words(history, found)}. It is written through "
        f"{tensor_words(history, written)}: the two names are one memory{since} "
        f"({numel(written)} elements)."
    )


def _view_site(history: History, found: Overwrite) -> RawSite | None:
    views = ancestors(history, written_tensor(*found.by))
    return next((call.site for call, _ in views), None)


def _fix(history: History, found: Overwrite) -> str:
    again = rewrite_words(history, found)
    if again.startswith("Write `"):
        again = f"{again[:-1]} and use this result from there on."
    site = _view_site(history, found)
    name = viewed(history.text(site))
    if name is None:
        return f"{again} Or separate the two names: clone() where the view is made."
    apart = f"`{name} = {name}.clone()` before the view is made in {history.line(site)}"
    if again.startswith("Write `"):
        return f"{again} Or separate the two names: {apart}."
    return f"Separate the two names: {apart}."


def viewed(text: str) -> str | None:
    """Return the name that an expression makes a view of.

    >>> viewed("t.view(4, -1)"), viewed("t[1:]"), viewed("f(t)")
    ('t', 't', None)
    """
    try:
        made = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(made, ast.Call):
        made = made.func
    inner = made.value if isinstance(made, ast.Attribute | ast.Subscript) else None
    return inner.id if isinstance(inner, ast.Name) else None


RULE = overwrite_rule("GV105", "inplace-through-alias", "alias", _message, _fix)
