"""GV404: an inverse function at the edge of its domain, or beyond it.

What it does
    Finds ``acos``, ``asin``, ``acosh``, ``atanh`` and their like where the gradient is
    Inf at the edge of the domain, or the value is NaN outside of it.
Why is this bad
    The derivative of ``acos`` is ``-1 / sqrt(1 - x * x)``: infinite at 1 and -1. A
    cosine of parallel vectors is exactly 1, or by rounding a little more.
Example
    ``angle = torch.acos(cos)`` with a ``cos`` of 1.0.
Use instead
    ``torch.acos(cos.clamp(-1 + 1e-6, 1 - 1e-6))``, or ``torch.atan2``.
When it stays quiet
    All operands lie inside the domain, or nothing takes the gradient.
References
    pytorch/pytorch#8069.
"""

from __future__ import annotations

from gradviz.dependence.op_families import plain
from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.numbers import dtype_of, edge_of, inside_domain
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History


@words.birth_rule("GV404", "inf-acos-at-boundary", "angle")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the inverse functions at or beyond the edge of their domain."""
    where = history.quoted(birth.site)
    edge = edge_of(dtype_of(birth.call))
    op = plain(birth.call.op) if birth.call is not None else "the function"
    if birth.node is not None:
        what = (
            f"{birth.node.name} of {where} returned a gradient of "
            f"{words.kind_of(birth)}{words.place(birth)}: its operand is at the "
            f"edge of the domain of {op}, where the derivative is infinite"
        )
    else:
        what = (
            f"{where} gave {words.kind_of(birth)}{words.place(birth)}: its operand "
            f"is at the edge of the domain of {op} or outside"
        )
    return words.Told(
        f"{what}{words.between(history, birth.call)}.",
        "Clamp the operand to the inside of the domain first: for acos and asin, "
        f"`{words.operand(history, birth)}.clamp(-1 + {edge}, 1 - {edge})`.",
        inside_domain(birth.site, edge),
    )
