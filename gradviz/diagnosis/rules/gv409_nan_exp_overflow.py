"""GV409: an exponential too large for its dtype.

What it does
    Finds ``exp`` and its like whose result is Inf, where this becomes NaN or reaches a
    loss or a gradient.
Why is this bad
    ``exp(x)`` overflows float32 above 88.7 and float16 above 11. Inf / Inf is NaN, and
    so is 0 * Inf in the backward pass, even where the forward value is finite again.
Example
    ``e = torch.exp(z); p = e / e.sum()`` with a ``z`` of 1000.
Use instead
    ``torch.softmax``, ``torch.logsumexp``, ``torch.sigmoid``, ``softplus``; or subtract
    the maximum first: ``torch.exp(z - z.max())``.
When it stays quiet
    The Inf is made finite again and no gradient is bad.
References
    pytorch/pytorch#160016.
"""

from __future__ import annotations

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.numbers import safe_exponential
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History

_LIMITS = {"float16": "11.1", "float64": "709.8"}


@words.birth_rule("GV409", "nan-exp-overflow", "exp")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the exponentials that overflowed."""
    call = birth.call
    dtype = call.outputs[0].dtype if call and call.outputs else "float32"
    extent = words.operands(history, call)
    detail = f"{extent}; " if extent else ""
    limit = _LIMITS.get(dtype, "88.7")
    where = history.quoted(birth.site)
    if birth.node is None:
        what = f"{where} overflowed to {words.kind_of(birth)}{words.place(birth)}"
    else:
        what = (
            f"{where} overflowed to Inf, which later ops hid, but its derivative "
            f"is Inf as well: {birth.node.name} made {words.kind_of(birth)} of a "
            f"finite gradient{words.place(birth)}"
        )
    return words.Told(
        f"{what} ({detail}{dtype} holds exp up to {limit}).",
        "If this is part of a softmax, logsumexp, sigmoid or softplus, use that "
        "function of torch. If not, keep the operand small: "
        f"`{words.operand(history, birth)}.clamp(max=10)`.",
        safe_exponential(birth.site),
    )
