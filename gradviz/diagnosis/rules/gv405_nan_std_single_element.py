"""GV405: a standard deviation over one element.

What it does
    Finds ``std`` and ``var`` that gave NaN because they divide by N - 1 = 0, in the
    forward or the backward pass.
Why is this bad
    With the default ``correction=1`` a batch of one has no variance: the result is
    NaN, and so is everything after it. Often it is the last, smaller batch.
Example
    ``x.std(dim=0)`` with an ``x`` of shape (1, 3).
Use instead
    ``x.std(dim=0, correction=0)``, or leave out batches of one: ``drop_last=True``.
When it stays quiet
    More than one element is reduced, or the result is not used.
References
    pytorch/pytorch#29372.
"""

from __future__ import annotations

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.nonfinite import Birth
from gradviz.program import History

_SPREADS = ("std", "var", "std_mean", "var_mean")


@words.birth_rule("GV405", "nan-std-single-element", "spread")
def told(history: History, birth: Birth) -> words.Told:
    """Tell of the deviations over too few elements."""
    shape = birth.call.inputs[0].shape if birth.call and birth.call.inputs else ()
    return words.Told(
        f"{history.quoted(birth.site)} gave {words.kind_of(birth)} for "
        f"{words.share(birth)}: it is taken over a single element (shape {shape}), "
        "and the default divides by N - 1, which is 0.",
        "Pass `correction=0`, or skip what has a single element.",
        with_keyword(
            birth.site, "correction", "0", of=_SPREADS, instead_of=("unbiased",)
        ),
    )
