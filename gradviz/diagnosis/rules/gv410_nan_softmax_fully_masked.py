"""GV410: a softmax over nothing but -inf.

What it does
    Finds ``softmax`` rows that are NaN because a mask left no element of them.
Why is this bad
    The softmax of a row of -inf is 0 / 0. One such row, often pure padding, makes the
    gradients of all weights NaN, because 0 * NaN is NaN.
Example
    ``torch.softmax(scores.masked_fill(mask, float("-inf")), -1)`` where ``mask`` is
    true for a whole row.
Use instead
    Keep one element per row, or replace the rows:
    ``torch.where(mask.all(-1, keepdim=True), 0.0, scores)`` before the softmax.
When it stays quiet
    Every row keeps an element: -inf before softmax is the usual way to mask.
References
    pytorch/pytorch#41508.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.nonfinite_kinds import of_kind
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History


@rule("GV410", "nan-softmax-fully-masked", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the softmax calls that met a fully masked row."""
    for birth in of_kind(history, "masked"):
        call = birth.turned_nan or birth.call
        if call is None:
            continue
        found = words.hit(
            history,
            birth,
            f"{history.quoted(call.site)} gave NaN {_where(history, call.index)}: "
            "there, all elements of a row are -inf, and the softmax of -inf alone is "
            "0 / 0.",
            "Set fully masked rows to 0 before the softmax and their result to 0 after "
            "it, or leave at least one element of each row unmasked.",
            call.site,
        )
        put = birth.site if birth.site != call.site else None
        others = [each for each in found.related if each.site != put]
        source = Related("-inf comes from here", put)
        yield replace(found, related=(source, *others))


def _where(history: History, index: int) -> str:
    call = history.call_at(index)
    summaries = [each.summary for each in call.outputs if each.summary] if call else []
    bad = [each for each in summaries if each.nans]
    if not bad or not bad[0].first_bad:
        return "for a row"
    row = ", ".join(str(each) for each in bad[0].first_bad[:-1])
    return f"in {bad[0].nans} of {bad[0].count} elements, first in row [{row}]"
