"""GV402: a square root at zero has an infinite derivative.

What it does
    Finds the backward function of a root, or of a norm written by hand, that turned
    finite gradients into Inf or NaN.
Why is this bad
    The derivative of ``sqrt`` at 0 is infinite; what comes before it usually has the
    derivative 0 there, and the product is NaN. ``torch.linalg.vector_norm`` is the
    same function with a gradient of 0 at 0.
Example
    ``(x ** 2).sum().sqrt().backward()`` where ``x`` is all zeros.
Use instead
    ``torch.linalg.vector_norm(x)``, or ``(x ** 2).sum().add(1e-12).sqrt()``.
When it stays quiet
    The operand of the root is above 0, or nothing takes the gradient.
References
    pytorch/pytorch#2421, pytorch/pytorch#6394.
"""

from __future__ import annotations

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.numbers import dtype_of, epsilon, inside_root
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History


@words.birth_rule("GV402", "nan-sqrt-of-zero", "root")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the roots whose derivative was infinite."""
    assert birth.node is not None
    return words.Told(
        f"The gradient of {history.quoted(birth.site)} is "
        f"{words.kind_of(birth)}{words.place(birth)}: what the root is taken of is 0 "
        "there, and the derivative of a root at 0 is infinite. The forward values are "
        "finite.",
        "Add a small constant inside the root: "
        f"`({words.operand(history, birth)} + {epsilon(dtype_of(birth.call))})"
        ".sqrt()`; or "
        "take a norm with `torch.linalg.vector_norm`, over the same dimensions: its "
        "gradient at 0 is 0.",
        inside_root(birth.site, dtype_of(birth.call)),
    )
