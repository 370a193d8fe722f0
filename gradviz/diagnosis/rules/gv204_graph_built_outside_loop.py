"""A graph built once, before a loop, is walked in every iteration of it.

What it does
    Finds a part of the graph that was computed once, before a loop, and that every
    iteration of the loop runs a backward pass through.

Why is this bad
    The first iteration's pass frees it; the second iteration's fails in it. Retaining
    it is no way out: after an optimizer step it belongs to weights that are gone.

Example
    ::

        scale = weight.exp()
        for x in batches:
            (scale * x).sum().backward()

Use instead
    ::

        for x in batches:
            scale = weight.exp()
            (scale * x).sum().backward()

When it stays quiet
    Where that part saves nothing or needs no gradient, or the loop computes it anew.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import Flow
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.edits.training import into_loop
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._freed import (
    SecondPass,
    built_at,
    reused,
    second_passes,
    steps_between,
)
from gradviz.diagnosis.rules._lifetime import describe
from gradviz.program import Backward, History, Node, RawSite

_ANEW = "Compute it again for every pass: move this line into {}."
_CONSTANT = " Or `detach()` the result: nothing behind it is to learn."
_RETAIN = (
    "Give it `retain_graph=True`: every iteration asks the same graph, and nothing in "
    "it changes in between."
)


@rule("GV204", "graph-built-outside-loop", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per pass that failed in what was built before the loop."""
    for found in history.once(second_passes):
        built = _built_once(history, found)
        if found.reason != "built outside" or built is None:
            continue
        stepped = bool(steps_between(history, found))
        asks = found.second.api == "grad" and not stepped
        is_constant = _is_constant(history, built, found.second)
        made = reused(history, found) or built_at(history, built, found.second)
        targets = history.places.targets(made)
        name = f"`{targets[0]}`" if targets else "This result"
        one_of: tuple[Related, ...] = ()
        if len(targets) > 1 and (cross := found.crossing) is not None:
            name = history.name(cross.value or -1, "One of the results")
            one_of = (Related("made here", built.site),)
        anew = _ANEW.format(_repeated(history, made, found.second))
        anew += _CONSTANT if is_constant else ""
        yield Hit(
            f"{name} was computed once, in {history.line(made)}, but the pass in "
            f"{history.line(found.second.site)} ran a second time. Its first run freed "
            f"that graph: {describe(history, found.freed)} has lost its saved tensors.",
            found.second.site if asks else made,
            _RETAIN if asks else anew,
            symptom=found.second.site,
            related=(
                *one_of,
                Related("ran a second time", found.second.site),
                *([Related("computed once", made)] if asks else []),
                Related("lost its saved tensors", found.freed.site),
            ),
            nodes=(built.key, found.freed.key),
            explains=history.ended_by(found.second),
            edit=with_keyword(found.first.site, "retain_graph", "True", of=("grad",))
            if asks
            else (
                into_loop(made, found.second.site)
                if _is_whole(history, built)
                else None
            ),
        )


def _repeated(history: History, made: RawSite | None, second: Backward) -> str:
    """Return what runs a pass again: another function of the file, or a loop."""
    if made is None or second.site is None or made[0] is second.site[0]:
        return "the loop"
    name = getattr(history.places.function(second.site[0]), "name", "")
    apart = made[0].co_filename != second.site[0].co_filename
    return "the loop" if apart or not name else f"`{name}`, which runs more than once"


def _is_constant(history: History, built: Node, second: Backward) -> bool:
    """Return whether nothing behind a result is learnt, or differentiated by."""
    made, managed = history.maker(built), learning.managed(history)
    if made is None or not managed:
        return False
    wanted = managed | {each.tensor for each in second.inputs}
    behind = (history.once(Flow).leaves(each, second.index) for each in made.outputs)
    return wanted.isdisjoint(*behind)


def _is_whole(history: History, built: Node) -> bool:
    """Return whether the line of a node computes from leaves, not from other lines."""
    call = history.maker(built)
    waiting = [] if call is None else list(call.inputs)
    while waiting:
        value = waiting.pop()
        made = history.producer(value)
        if made is None or not value.requires_grad or value.is_leaf:
            continue
        if call is None or not same_line(made.site, call.site):
            return False
        waiting += made.inputs
    return True


def _built_once(history: History, found: SecondPass) -> Node | None:
    if found.crossing is not None:
        return found.crossing.node
    return history.node(found.second.roots[0].node) if found.second.roots else None
