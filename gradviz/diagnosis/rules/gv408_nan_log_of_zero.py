"""GV408: a logarithm of zero, or of a negative number.

What it does
    Finds logarithms whose result is -inf or NaN, or whose derivative is infinite, where
    this reaches a loss, a gradient or a NaN.
Why is this bad
    Probabilities computed by ``softmax`` or ``sigmoid`` underflow to an exact 0. Their
    logarithm is -inf, and 0 * -inf is NaN: the op that shows NaN is not to blame.
Example
    ``-(target * torch.log(torch.softmax(logits, 1))).sum()``
Use instead
    ``log_softmax``, ``logsigmoid``, ``cross_entropy`` or
    ``binary_cross_entropy_with_logits``; or ``torch.log(p.clamp(min=1e-12))``.
When it stays quiet
    The -inf is masked, clamped or exponentiated away and no gradient is bad.
References
    pytorch/pytorch#160016.
"""

from __future__ import annotations

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.numbers import dtype_of, inside_log
from gradviz.diagnosis.nonfinite import Birth
from gradviz.diagnosis.nonfinite_kinds import lowest_of
from gradviz.program import History

_TOGETHER = (
    "Compute the logarithm together with what underflows (log_softmax, logsigmoid, "
    "cross_entropy, binary_cross_entropy_with_logits), or clamp its operand: "
    "`{x}.clamp(min=1e-12)`."
)
_POSITIVE = (
    "Make the operand positive first: `F.softplus({x}) + 1e-6` for what a layer gives, "
    "or let the layer give the logarithm itself; `{x}.clamp(min=1e-12)` leaves what is "
    "below without a gradient."
)


@words.birth_rule("GV408", "nan-log-of-zero", "log")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the logarithms of zero."""
    where = history.quoted(birth.site)
    lowest = lowest_of(birth.call) if birth.call is not None else None
    sign, fix = "0", _TOGETHER
    if lowest is not None and lowest < -1e-30:
        sign, fix = "a negative number", _POSITIVE
    if birth.node is not None:
        what = f"{birth.node.name} of {where} returned a gradient of "
    else:
        what = f"{where} gave {'' if birth.is_nan else '-'}"
    return words.Told(
        f"{what}{words.kind_of(birth)}{words.place(birth)}: it takes the "
        f"logarithm of {sign}{words.between(history, birth.call)}.",
        fix.format(x=words.operand(history, birth)),
        inside_log(birth.site, dtype_of(birth.call)),
    )
