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
from gradviz.program import Call, History, Value


@words.birth_rule("GV407", "nan-zero-division", "division")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the divisions by zero."""
    what = "gave" if birth.node is None else f"({birth.node.name}) passed on"
    return words.Told(
        f"{history.quoted(birth.site)} {what} "
        f"{words.kind_of(birth)}{words.how_many(birth)}: {_why(history, birth)}.",
        _fix(history, birth),
        None
        if birth.call is None or _is_number(birth.call)
        else divisor(birth.call, birth.site),
    )


def _fix(history: History, birth: Birth) -> str:
    if birth.call is not None and any(0 in each.shape for each in birth.call.inputs):
        return "Leave the mean out where there is no element."
    keep, dtype = "Keep the divisor away from 0", dtype_of(birth.call)
    written = divisor_text(history, birth.site)
    if birth.call is not None and _is_number(birth.call) and written:
        return f"Divide by `max({written}, {_least(birth.call)})`."
    if not written or birth.call is None:
        return f"{keep}."
    divided, d = birth.call.inputs[-1], in_code(written)
    if _is_root(history, divided):
        return f"{keep}: add {epsilon(dtype)} inside of the root."
    low = None if divided.summary is None else divided.summary.minimum
    if low is None or low < 0:
        return f"{keep}: `torch.where({d} == 0, 1.0, {d})`."
    small = epsilon(dtype, "1e-8") if "float" in divided.dtype else "1"
    return f"{keep}: `{d}.clamp(min={small})`."


def _least(call: Call) -> str:
    """Return the smallest number to divide by: 1 in the place of a count of 0."""
    zero = next(each for each in numbers_in(call) if each == 0)
    return "1" if isinstance(zero, int) else epsilon(dtype_of(call), "1e-8")


def _divisor(birth: Birth) -> Value | None:
    """Return the tensor that was divided by; a number is none."""
    return None if birth.call is None else next(iter(birth.call.inputs[1:2]), None)


def _is_number(call: Call) -> bool:
    """Tell whether it is the number 0 that a call divides by."""
    return len(call.inputs) == 1 and 0 in numbers_in(call)


def _is_root(history: History, value: Value) -> bool:
    made = history.producer(value)
    if made is None:
        return False
    op = made.op.strip("_")
    return op == "sqrt" or (op == "pow" and 0.5 in numbers_in(made))


def _why(history: History, birth: Birth) -> str:
    call = birth.call
    if call is not None and any(0 in value.shape for value in call.inputs):
        return "there is no element to take the mean of"
    by = _divisor(birth)
    if call is not None and _is_number(call):
        return "it divides by the number 0"
    if by is not None:
        written = divisor_text(history, birth.site)
        name = history.name(by, f"`{written}`" if written else "the divisor")
        extent = words.extent(by)
        summary = by.summary
        if summary is not None and not summary.zeros:
            size = f", which {extent}," if extent else ""
            return f"the quotient by {name}{size} is too large for {by.dtype}"
        if summary is not None and summary.count == 1:
            return f"{name} is 0"
        of = f" (it {extent})" if extent else ""
        return f"{name} is 0 there{of}"
    return "it divides by 0 there"
