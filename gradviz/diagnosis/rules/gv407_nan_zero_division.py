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
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.edits.numbers import divisor, divisor_text, dtype_of, epsilon
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History, Value


@words.birth_rule("GV407", "nan-zero-division", "division")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the divisions by zero."""
    by = _divisor(birth)
    what = "gave" if birth.node is None else f"({birth.node.name}) passed on"
    return words.Told(
        f"{words.source_of(history, birth)} {what} {words.kind_of(birth)}"
        f"{words.how_many(birth)}: {_why(history, birth)}.",
        _fix(history, birth, by),
        None if birth.call is None else divisor(birth.call, birth.site),
    )


def _fix(history: History, birth: Birth, by: Value | None) -> str:
    if birth.call is not None and any(0 in each.shape for each in birth.call.inputs):
        return "Leave the mean out where there is no element."
    keep, dtype = "Keep the divisor away from 0", dtype_of(birth.call)
    written = divisor_text(history, birth.site)
    if not written:
        return f"{keep}."
    if _is_root(history, by):
        return f"{keep}: add {epsilon(dtype)} inside of the root."
    d, divided = in_code(written), None if birth.call is None else birth.call.inputs[-1]
    if divided is None or divided.summary is None or (divided.summary.minimum or 0) < 0:
        return f"{keep}: `torch.where({d} == 0, 1.0, {d})`."
    small = epsilon(dtype, "1e-8") if "float" in divided.dtype else "1"
    return f"{keep}: `{d}.clamp(min={small})`."


def _divisor(birth: Birth) -> Value | None:
    """Return the tensor that was divided by; a number is none."""
    return None if birth.call is None else next(iter(birth.call.inputs[1:2]), None)


def _is_root(history: History, value: Value | None) -> bool:
    made = None if value is None else history.producer(value)
    return made is not None and made.op.strip("_") in ("sqrt", "rsqrt", "pow")


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
