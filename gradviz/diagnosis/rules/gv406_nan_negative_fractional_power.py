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

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.numbers import above_zero, dtype_of, epsilon
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History


@words.birth_rule("GV406", "nan-negative-fractional-power", "power")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the powers of negative numbers."""
    small = epsilon(dtype_of(birth.call))
    x = words.operand(history, birth)
    return words.Told(
        f"{history.quoted(birth.site)} gave NaN for {words.share(birth)}, "
        f"first{words.place(birth)}: a fractional power of a negative number has no "
        f"real value{words.between(history, birth.call)}.",
        f"Keep the operand at or above 0 (`{x}.clamp(min={small})`), or use "
        f"`{x}.sign() * {x}.abs() ** p` if negative operands are meant.",
        above_zero(birth.site, small),
    )
