"""An iterator is walked in every epoch, and has something to give in the first alone.

What it does
    Finds the loops around a backward pass that walk a generator, a ``zip``, a ``map``
    or another iterator, where a further loop does so again with the same one. It may
    be kept by an object of the program's own that hands its elements out.

Why is this bad
    An iterator gives its elements once. From the second turn on the loop over it has no
    turns: nothing raises, the epochs go by in no time, and nothing is learnt in them.

Example
    ::

        batches = zip(xs.split(32), ys.split(32))
        for epoch in range(20):
            for x, y in batches:
                train(x, y)

Use instead
    ::

        batches = list(zip(xs.split(32), ys.split(32)))
        for epoch in range(20):
            for x, y in batches:
                train(x, y)

When it stays quiet
    Where the iterator is made anew in each turn, never ends, or is left early to go on
    from there.

References
    https://docs.python.org/3/glossary.html#term-iterator
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.iterators import UsedUp, used_up
from gradviz.diagnosis.decisions.sites import site_at, site_of
from gradviz.diagnosis.edits.training import walked_again
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, History, RawSite


@rule("GV687", "iterator-used-up", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes such an iterator."""
    last = {(each.site, each.stack): each for each in history.backwards}
    told = set[RawSite | None]()
    for backward in last.values():
        where = spot(history, backward.site, backward.stack)
        found = None if where is None else used_up(where)
        made = None if found is None else site_of(history, found.made)
        if found is not None and made is not None and made not in told:
            told.add(made)
            yield _hit(history, backward, found, made)


def _hit(history: History, backward: Backward, found: UsedUp, made: RawSite) -> Hit:
    again = site_at(history, made, found.again.lineno)
    text = " ".join(found.made.source.of(found.made.node).split())
    return Hit(
        f"`{text}` gives its elements once. The loop in line {found.walk.lineno}, with "
        f"the pass of {history.line(backward.site)}, walks it in each turn of the loop "
        f"in line {found.again.lineno}: after the first turn nothing is left.",
        made,
        "Make it anew in each turn, or keep `list(…)` of it.",
        symptom=backward.site,
        related=(Related("walked again by this loop", again),),
        edit=None if found.is_advanced else walked_again(made),
        certainty=0.8,
    )
