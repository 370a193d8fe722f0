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

from gradviz.dependence.op_families import plain
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
        f"there, and the derivative of a root at 0 is infinite{_times(birth)}. The "
        "forward values are finite.",
        "Add a small constant inside the root: "
        f"`({words.operand(history, birth)} + {epsilon(dtype_of(birth.call))})"
        f".sqrt()`{_norm(history, birth)}.",
        inside_root(birth.site, dtype_of(birth.call)),
    )


def _norm(history: History, birth: Birth) -> str:
    """Return what else to write for the root of a sum of squares."""
    value = None if birth.call is None else next(iter(birth.call.inputs), None)
    summed = None if value is None else history.producer(value)
    if summed is None or plain(summed.op) != "sum" or not summed.inputs:
        return ""
    square = history.producer(summed.inputs[0])
    if square is None or plain(square.op) not in ("pow", "square", "mul"):
        return ""
    return (
        "; or take a norm with `torch.linalg.vector_norm`, over the same dimensions: "
        "its gradient at 0 is 0"
    )


def _times(birth: Birth) -> str:
    return ", and NaN times 0" if words.kind_of(birth) == "NaN" else ""
