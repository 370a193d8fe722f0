"""GV413: a value too large for float16.

What it does
    Finds ops and derivatives in float16 whose result is Inf.
Why is this bad
    float16 ends at 65504. A sum, a square or a matrix product passes that easily, and
    Inf becomes NaN one or two ops later; or 0, where something is divided by it.
Example
    ``(x.half() ** 2).sum()`` with values of 300.
Use instead
    bfloat16, which has the range of float32; autocast; or float32 for sums, norms and
    losses. Scale large activations down first.
When it stays quiet
    A loss scaler skipped the step, or the value reaches no loss, nor makes zeros of all
    that is divided by it.
References
    pytorch/pytorch#40497.
"""

from __future__ import annotations

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History


@words.birth_rule("GV413", "half-precision-overflow", "half")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of what overflowed in float16."""
    what = "gave" if birth.node is None else f"({birth.node.name}) passed on"
    return words.Told(
        f"{history.quoted(birth.site)} {what} "
        f"{words.kind_of(birth)}{words.place(birth)}: float16 ends at "
        f"65504{words.between(history, birth.call)}.",
        "Compute this in float32 or bfloat16 "
        f"(`{words.operand(history, birth)}.float()`, or `torch.autocast`), or scale "
        "the values down first.",
    )
