"""A learned number is turned into an integer, for an index, and stops learning.

What it does
    Finds casts of values with a graph to integers (``.long()``, ``.int()``,
    ``.to(torch.int64)``) on the way to a root where the leaves behind get no gradient.

Why is this bad
    Integers carry no gradient. The table that is indexed learns; where it is read from
    does not.

Example
    ::

        value = table[position.long()]

Use instead
    ::

        low = position.floor().long()
        weight = position - low
        value = (1 - weight) * table[low] + weight * table[low + 1]

When it stays quiet
    Labels, rows that a loop picks one after the other, and indices beside a path that
    reaches the leaves, as in the interpolation above.

References
    https://github.com/pytorch/pytorch/issues/44944
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History


@cut_rule("GV311", "learnable-index", "cast")
def words(history: History, cut: Cut) -> Words:
    call = cut.call
    name = history.name(cut.crossings[0].source, "a value with a graph")
    return Words(
        f"`{history.text(call.site)}` in {history.line(call.site)} makes integers of "
        f"{name}: integers have no gradient, and the graph ends here.",
        "Interpolate between the neighbouring entries, or weight all entries with a "
        "softmax.",
        call.site,
    )
