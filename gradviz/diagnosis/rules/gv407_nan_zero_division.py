"""GV407: a division by zero.

What it does
    Finds divisions, reciprocals and means over nothing whose result, or derivative, is
    Inf or NaN.
Why is this bad
    0 / 0 is NaN, and x / 0 is Inf, which becomes NaN one op later. Typical divisors
    are the sum of a mask that selects nothing, a norm and a deviation.
Example
    ``(x * mask).sum() / mask.sum()`` where ``mask`` is all zeros.
Use instead
    ``(x * mask).sum() / mask.sum().clamp(min=1)``, or ``x / (x.norm() + 1e-8)``.
When it stays quiet
    A later op makes the value finite again, or nothing takes the gradient.
References
    pytorch/pytorch#4132.
"""

from __future__ import annotations

from gradviz.dependence.op_families import numbers_in
from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.numbers import divisor, dtype_of, epsilon
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History, Value


@words.birth_rule("GV407", "nan-zero-division", "division")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the divisions by zero."""
    small = epsilon(dtype_of(birth.call), "1e-8")
    by = _divisor(birth)
    d = "d" if by is None else history.name(by, "d").strip("`")
    what = "gave" if birth.node is None else f"({birth.node.name}) passed on"
    return words.Told(
        f"{words.source_of(history, birth)} {what} {words.kind_of(birth)}"
        f"{words.how_many(birth)}: {_why(history, birth)}.",
        f"Keep the divisor away from 0: `{d}.clamp(min={small})` where it is never "
        f"below, `torch.where({d} == 0, 1.0, {d})` otherwise."
        + (" Of a root, inside of it." if _is_root(history, by) else ""),
        None if birth.call is None else divisor(birth.call, birth.site),
    )


def _divisor(birth: Birth) -> Value | None:
    """Return the tensor that was divided by; a number is none."""
    return None if birth.call is None else next(iter(birth.call.inputs[1:2]), None)


def _is_root(history: History, value: Value | None) -> bool:
    made = None if value is None else history.producer(value)
    return made is not None and ("sqrt" in made.op or "norm" in made.op)


def _why(history: History, birth: Birth) -> str:
    call = birth.call
    if call is not None and any(0 in value.shape for value in call.inputs):
        return "there is no element to take the mean of"
    by = _divisor(birth)
    if call is not None and by is None and 0 in numbers_in(call):
        return "it divides by the number 0"
    if by is not None:
        name = history.name(by, "the divisor")
        extent = words.extent(by)
        summary = by.summary
        if summary is not None and not summary.zeros:
            size = f", which {extent}," if extent else ""
            return f"the quotient by {name}{size} is too large for {by.dtype}"
        if summary is not None and summary.count == 1:
            return f"{name} is 0"
        return f"{name} has a 0 there{f' (it {extent})' if extent else ''}"
    return "it divides by 0 there"
