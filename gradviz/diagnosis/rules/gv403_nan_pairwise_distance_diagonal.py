"""GV403: distances of all pairs include that of each point to itself.

What it does
    Finds the root of a square matrix of distances whose gradient is Inf or NaN on the
    diagonal.
Why is this bad
    The distance of a point to itself is 0, where the derivative of the root is
    infinite. Masking the diagonal afterwards does not help: 0 times infinity is NaN.
Example
    ``d = (x[:, None] - x[None]).pow(2).sum(-1).sqrt()``
Use instead
    ``torch.cdist(x, x)``, whose gradient at 0 is 0; or add a small constant inside the
    root; or take the pairs ``i < j`` only.
When it stays quiet
    No gradient flows through the diagonal, or it is finite there.
References
    pytorch/pytorch#3264, HIPS/autograd#151.
"""

from __future__ import annotations

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.numbers import dtype_of, inside_root
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History


@words.birth_rule("GV403", "nan-pairwise-distance-diagonal", "pairwise")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the roots with a bad gradient on their diagonal."""
    assert birth.node is not None
    return words.Told(
        f"{birth.node.name} of {history.quoted(birth.site)} returned "
        f"{words.kind_of(birth)} for {words.share(birth)}, first{words.place(birth)}: "
        "the diagonal holds the distance of each point to itself, 0, where the "
        "derivative of the root is infinite.",
        "Use `torch.cdist(x, x)`, or add a small constant inside the root, or take "
        "the root of the pairs `i < j` only.",
        inside_root(birth.site, dtype_of(birth.call)),
    )
