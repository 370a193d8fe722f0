"""GV101 inplace-saved-output: a result was overwritten although its node needs it.

What it does
    Finds the first write to a tensor that the node which made it had saved.

Why is this bad
    Some derivatives are computed from the result: exp, sigmoid, tanh, softmax, sqrt,
    ReLU, max pooling. When the result is overwritten, the derivative cannot be computed
    any more; autograd sees that the version changed and refuses.

Example
    y = x.exp()
    y += 1
    y.sum().backward()

Use instead
    y = x.exp()
    y = y + 1

When it stays quiet
    When the node saved nothing that was written, as for ``y = x * 2; y += 1``, when a
    clone was written, and when the backward pass ran.

References
    PyTorch notes: Autograd mechanics, "In-place operations with autograd",
    "In-place correctness checks".
"""

from __future__ import annotations

from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    overwritten_words,
    rewrite_words,
)
from gradviz.program import History


def _message(history: History, found: Overwrite) -> str:
    return f"{overwritten_words(history, found)}."


RULE = overwrite_rule(
    "GV101", "inplace-saved-output", "output", _message, rewrite_words
)
