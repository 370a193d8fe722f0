"""GV102 inplace-saved-input: a tensor was overwritten after an operation had saved it.

What it does
    Finds the first write to a tensor that an operation saved because its derivative is
    computed from its input.

Why is this bad
    The derivative of pow, mul, matmul, sin, log and many more needs the input as it
    was. When the input is overwritten before the backward pass, autograd refuses.

Example
    squares = h ** 2
    h.mul_(0.5)
    squares.sum().backward()

Use instead
    squares = h ** 2
    h = h * 0.5

When it stays quiet
    When no operation saved the tensor (``h + 1`` saves nothing), when the write comes
    before the operation or after the backward pass, and when a clone was written.

References
    PyTorch notes: Autograd mechanics, "In-place operations with autograd",
    "In-place correctness checks".
"""

from __future__ import annotations

from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    rewrite_words,
    saved_words,
    write_words,
)
from gradviz.program import History


def _message(history: History, found: Overwrite) -> str:
    return (
        f"{saved_words(history, found)}. {write_words(history, found)}, so backward() "
        "cannot use the saved value any more."
    )


RULE = overwrite_rule("GV102", "inplace-saved-input", "input", _message, rewrite_words)
