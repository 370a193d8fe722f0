"""A loop walks an old graph again, and ``retain_graph`` only hides where it is kept.

What it does
    For a pass that fails because a step changed weights which an old graph had saved,
    names the line that keeps this graph from iteration to iteration: what was computed
    before the loop, or a state that is carried along.

Why is this bad
    ``retain_graph=True`` silences the error about a freed graph, and the next one comes
    with the first step. The step is right; the line that was not run again, or does not
    detach, is to change.

Example
    ::

        nodes = encoder(x)
        for target in targets:
            loss = (nodes - target).pow(2).mean()
            loss.backward(retain_graph=True)
            optimizer.step()

Use instead
    ::

        for target in targets:
            loss = (encoder(x) - target).pow(2).mean()
            loss.backward()
            optimizer.step()

When it stays quiet
    Where no pass had walked the graph before, or a loop walks losses that were all
    there before it: then the order of step and pass is wrong.

References
    https://github.com/pytorch/pytorch/issues/39141
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.learning import joined
from gradviz.diagnosis._saved_writes import Overwrite, overwrites
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.edits.training import carried_cut, carried_names
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._carried import carried_at
from gradviz.diagnosis.rules._freed import built_at, crossing_into, made_again
from gradviz.diagnosis.rules._lifetime import (
    is_one_of_several,
    passes_through,
    repeats,
)
from gradviz.program import History, RawSite


@rule("GV241", "graph-kept-past-a-step", "error")
def check(history: History) -> Iterator[Hit]:
    for found in overwrites(history):
        keeping = _kept(history, found)
        if keeping is None:
            continue
        kept, why, fix, edit = keeping
        yield Hit(
            f"{history.quoted(found.backward.site)} goes back through the graph of "
            f"{history.quoted(kept)} as well, {why}. Since then a step has changed the "
            "weights that it needs.",
            kept,
            fix,
            symptom=found.backward.site,
            related=(Related("weights changed here", found.site),),
            nodes=(found.node.key,),
            severity="error" if found.ended else "info",
            explains=found.ended,
            certainty=0.95,
            edit=edit,
        )


def _kept(
    history: History, found: Overwrite
) -> tuple[RawSite, str, str, Remedy | None] | None:
    """Return the line that keeps an old graph, why, and what to write instead."""
    second = found.backward
    walked = passes_through(history, found.node.key)
    walked = [each for each in walked if each.index < second.index]
    if found.kind != "stale weights" or not walked or not repeats(walked[0], second):
        return None
    if is_one_of_several(history, walked[0], second):
        return None
    if not made_again(history, found.node, walked[0], second):
        built = built_at(history, found.node, second)
        fix = (
            "Run this line anew in each turn of the loop that steps, before what is "
            "made of it there, and drop retain_graph=True. Here it may stay for what "
            "else needs it."
        )
        return built and (built, "which ran once, before the loop", fix, None)
    crossing = crossing_into(history, walked[-1], second)
    if crossing is None:
        return None
    kept = carried_at(history, crossing, second)
    if kept is None:
        return None
    edit = carried_cut(history, kept, second, crossing.bridge, retained=True)
    names = carried_names(history, kept, crossing.bridge)
    carried = joined([f"`{each}`" for each in names]) or "what it gave"
    why = f"of the iteration before, from which {carried} came"
    return kept, why, _cut(names or ["state"]), edit


def _cut(names: list[str]) -> str:
    """Return what to write where an iteration ends."""
    detached = ", ".join(f"{each}.detach()" for each in names)
    return (
        f"Cut the graph where one iteration ends: `{', '.join(names)} = {detached}`, "
        "and drop retain_graph=True."
    )
