"""GV406: a root or a fractional power of a negative number.

What it does
    Finds ``sqrt``, ``rsqrt`` and ``pow`` that gave NaN out of finite operands.
Why is this bad
    There is no real result. Negative operands often come from rounding, as in
    ``a2 + b2 - 2 * ab``, which should be 0 and is -1e-7.
Example
    ``torch.tensor([-1.0], requires_grad=True) ** 0.5``
Use instead
    ``x.clamp(min=0)`` before the root, or ``x.sign() * x.abs() ** p``.
When it stays quiet
    A later op replaces the NaN, or nothing takes the gradient.
References
    pytorch/pytorch#4320.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.nonfinite_kinds import of_kind
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History


@rule("GV406", "nan-negative-fractional-power", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the powers of negative numbers."""
    for birth in of_kind(history, "power"):
        extent = words.operands(history, birth.call)
        yield words.hit(
            history,
            birth,
            f"{words.source_of(history, birth)} gave NaN for {words.share(birth)}, "
            f"first{words.place(birth)}: a fractional power of a negative number has "
            f"no real value{f' ({extent})' if extent else ''}.",
            "Keep the operand at or above 0 (`x.clamp(min=1e-12)`), or use "
            "`x.sign() * x.abs() ** p` if negative operands are meant.",
        )
