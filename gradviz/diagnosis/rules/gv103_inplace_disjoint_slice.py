"""GV103 inplace-disjoint-slice: other elements of a saved tensor's memory were written.

What it does
    Finds a write that does not touch a single saved element, but raises the version of
    the storage that the saved view is in.

Why is this bad
    Autograd keeps one version counter per storage. A write to any view of it makes all
    saved views count as changed, and the backward pass refuses.

Example
    s = a[1].sin()
    a[0] = s
    a.sum().backward()

Use instead
    s = a[1].sin()
    a = torch.stack([s, a[1]])

When it stays quiet
    When the saved tensor has a storage of its own, and when the backward pass ran.

References
    PyTorch notes: Autograd mechanics, "In-place correctness checks".
    PyTorch documentation: Tensor Views.
"""

from __future__ import annotations

from gradviz.diagnosis._memory import span
from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    overwritten_words,
)
from gradviz.program import History


def _message(history: History, found: Overwrite) -> str:
    written, saved = span(found.by[1].value), span(found.value)
    apart = written[1] <= saved[0] or saved[1] <= written[0]
    where = f"{_elements(written)} written, {_elements(saved)} saved"
    facts = where if apart else "each lies in the gaps of the other"
    return (
        f"{overwritten_words(history, found)}. The two do not overlap ({facts}), but "
        "all views of one storage share one version counter."
    )


def _elements(span: tuple[int, int]) -> str:
    """Return "element 3 was" or "elements 3 to 5 were"."""
    first, last = span[0], span[1] - 1
    return (
        f"element {first} was" if first == last else f"elements {first} to {last} were"
    )


def _fix(history: History, found: Overwrite) -> str:
    return (
        "Build the tensor from its parts with `torch.stack` or `torch.cat` instead of "
        "writing into it, or write to a copy: `clone()` it just before the write."
    )


RULE = overwrite_rule("GV103", "inplace-disjoint-slice", "disjoint", _message, _fix)
