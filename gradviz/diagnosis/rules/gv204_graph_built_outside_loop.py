"""A graph built once, before a loop, is walked in every iteration of it.

What it does
    Finds a part of the graph that was computed once, before a loop, and that every
    iteration of the loop runs a backward pass through. It is an error where a pass
    failed in it, and a warning where all ran through, and the parameters that it was
    computed from have changed in between. Where nothing learns what it was computed
    from, the line that lets that require grad is named.

Why is this bad
    The first iteration's pass frees it; the second iteration's fails in it. Retaining
    it is no way out: after an optimizer step it belongs to weights that are gone. The
    value stays as it was at the beginning, and what is learnt has no effect on it.

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
    Where the loop computes it anew, or that part needs no gradient. Where no pass
    failed, also where nothing behind it changes between the passes, for views of
    parameters, which change with them, and for a ``clone()``, which is to stay.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import Flow
from gradviz.dependence.lineage import reached
from gradviz.diagnosis.decisions.sites import line_of, same_line
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.edits.leaves import without_gradients
from gradviz.diagnosis.edits.training import into_loop
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._freed import (
    SecondPass,
    built_at,
    reused,
    second_passes,
    steps_between,
)
from gradviz.diagnosis.rules._loop_helpers import read_gradients
from gradviz.diagnosis.rules._origins import asked_for_gradients, is_result
from gradviz.diagnosis.rules._stale_values import StaleValue, stale_values, used_in
from gradviz.program import Backward, Call, Event, History, Node, RawSite
from gradviz.text.places import package_of

_ANEW = "Compute it again for every pass: move this line into {}."
_CONSTANT = " Or `detach()` the result: nothing behind it is to learn."
_RETAIN = (
    "Give it `retain_graph=True`: every iteration asks the same graph, and nothing in "
    "it changes in between."
)


@rule("GV204", "graph-built-outside-loop", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per pass that failed in what was built before the loop.

    And one per line whose result passes walk on, while its parameters change.
    """
    yield from _refused(history)
    yield from _stale(history)


def _refused(history: History) -> Iterator[Hit]:
    for found in history.once(second_passes):
        built = _built_once(history, found)
        if found.reason != "built outside" or built is None:
            continue
        constants = _asked_in_vain(history, built, found.second)
        if constants:
            yield _of_constants(history, found, built, constants)
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
            f"{name} was computed once, in {history.line(made)}, and backward() in "
            f"{history.line(found.second.site)} goes through its graph a second time. "
            "The first time has freed it.",
            found.second.site if asks else made,
            _RETAIN if asks else anew,
            symptom=found.second.site,
            related=(
                *one_of,
                Related("ran a second time", found.second.site),
                Related("computed once", made if asks else None),
                Related("freed by then", found.freed.site),
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
    learnt = managed | read_gradients(history).intersection(second.leaves)
    if made is None or learnt.isdisjoint(second.leaves):
        return False
    wanted = learnt | {each.tensor for each in second.inputs}
    behind = (history.once(Flow).leaves(each, second.index) for each in made.outputs)
    return wanted.isdisjoint(*behind)


def _asked_in_vain(history: History, built: Node, second: Backward) -> list[RawSite]:
    """Return the lines that let the leaves of a constant require grad."""
    if not _is_constant(history, built, second):
        return []
    leaves = sorted(history.leaves_behind([built.key]))
    asked = [asked_for_gradients(history, leaf) for leaf in leaves]
    return [] if None in asked else [each for each in asked if each is not None]


def _of_constants(
    history: History, found: SecondPass, built: Node, asked: list[RawSite]
) -> Hit:
    made = built_at(history, built, found.second)
    names = [name for each in asked for name in history.places.targets(each)]
    names = [each.removesuffix(".requires_grad") for each in names]
    name = learning.joined([f"`{each}`" for each in names]) or "This tensor"
    requires, them = ("require", "them") if len(names) > 1 else ("requires", "it")
    return Hit(
        f"{name} {requires} grad, but nothing learns {them}: no optimizer has "
        f"{them}, and nobody reads a gradient of {them}. What "
        f"{history.line(_computed(found) or made)} computes from {them}, once, carries "
        f"a graph: the first pass in {history.line(found.second.site)} frees it, and "
        "the next one fails on it.",
        asked[0],
        "Leave out `requires_grad`.",
        symptom=found.second.site,
        related=(
            *(Related("requires grad as well", each) for each in asked[1:]),
            Related("computed once", made),
            Related("ran a second time", found.second.site),
            Related("freed by then", found.freed.site),
        ),
        nodes=(built.key, found.freed.key),
        explains=history.ended_by(found.second),
        edit=without_gradients(asked[0]) if len(asked) == 1 else None,
    )


def _computed(found: SecondPass) -> RawSite | None:
    """Return the line of the program that computed what was freed."""
    site = found.freed.site
    return None if site is None or package_of(site[0].co_filename) else site


def _is_whole(history: History, built: Node) -> bool:
    """Return whether the line of a node computes from leaves, not from other lines."""

    def learning_from(call: Call) -> list[Call | None]:
        return [history.producer(each) for each in call.inputs if is_result(each)]

    call = history.maker(built)
    behind = () if call is None else reached(learning_from(call), learning_from)
    return all(call and same_line(each.site, call.site) for each in behind)


def _built_once(history: History, found: SecondPass) -> Node | None:
    if found.crossing is not None:
        return found.crossing.node
    return history.node(found.second.roots[0].node) if found.second.roots else None


# ---- no pass failed ------------------------------------------------------------------


def _stale(history: History) -> Iterator[Hit]:
    """Yield one hit per line that computed once what should follow its parameters."""
    by_line: dict[tuple[str, int] | None, list[StaleValue]] = {}
    for found in stale_values(history):
        made = built_at(history, found.node, found.passes[-1])
        by_line.setdefault(made and line_of(made), []).append(found)
    for alike in by_line.values():
        yield _stale_hit(history, alike)


def _stale_hit(history: History, alike: list[StaleValue]) -> Hit:
    found, second = alike[0], alike[0].passes[-1]
    made = built_at(history, found.node, second)
    moved: dict[int, Event] = {}
    for each in alike:
        moved |= each.moved
    changed = min(moved.values(), key=lambda each: each.index)
    targets = history.places.targets(made)
    name = f"`{targets[0]}`" if len(targets) == 1 else history.name(found.value, "")
    leaves = learning.listed(history, moved)
    changes = "them" if len(moved) > 1 else "it"
    return Hit(
        f"{name or 'This result'} keeps its first value: it was computed from {leaves} "
        f"once, in {history.line(made)}, and {history.line(changed.site)} changes "
        f"{changes} in every step. {_count(history, found)} in "
        f"{history.line(second.site)} went through that one graph.",
        made,
        _anew(history, alike, made, name),
        symptom=second.site,
        related=(
            Related("backward() through the old graph", second.site),
            Related("parameters changed here", changed.site),
        ),
        nodes=tuple(each.node.key for each in alike),
        tensors=tuple(moved),
        severity="warning",
        certainty=0.9,
        edit=into_loop(made, second.site) if _is_whole(history, found.node) else None,
    )


def _count(history: History, found: StaleValue) -> str:
    """Return "3 backward passes"; of a log with gaps, that there were more."""
    first, last = found.passes[0], found.passes[-1]
    whole = history.is_whole(first.index, last.index)
    count = f"{len(found.passes):,} backward passes"
    return count if whole else f"At least {count}"


def _anew(
    history: History, alike: list[StaleValue], made: RawSite | None, name: str
) -> str:
    """Return how to compute a value anew, where its line ran in another function."""
    second = alike[0].passes[-1]
    kept = any(each.retain_graph for each in alike[0].passes)
    drop = ", and drop `retain_graph=True`" if kept else ""
    rest = f"{drop}."
    if made is None or second.site is None or made[0] is second.site[0]:
        return f"Compute it again for every pass: move this line into the loop{rest}"
    if name.startswith("`self."):
        return (
            f"Make {name} a property, which computes it whenever it is read, in the "
            f"place of {history.line(made)}{rest}"
        )
    lines = {line_of(each): each for one in alike for each in used_in(history, one)}
    used = [history.line(lines[each]) for each in sorted(lines)]
    where = f" ({learning.joined(used)})" if used else ""
    return f"Compute {name or 'it'} anew in each forward, where it is used{where}{rest}"
