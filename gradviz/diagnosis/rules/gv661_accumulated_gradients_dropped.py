"""Gradients are cleared between the passes of a step that were to add up.

What it does
    Finds loops that run the same backward pass several times per step and clear the
    gradients in between, before anything has read or applied them.

Why is this bad
    Only the last pass counts. A batch split into parts learns from its last part, with
    a loss that was divided by the number of parts.

Example
    ::

        for part in parts:
            optimizer.zero_grad()
            (loss_fn(model(part)) / len(parts)).backward()
        optimizer.step()

Use instead
    ::

        optimizer.zero_grad()
        for part in parts:
            (loss_fn(model(part)) / len(parts)).backward()
        optimizer.step()

When it stays quiet
    Where a gradient was read before it was cleared, in the closure of a step, under a
    gradient scaler, and where some steps are left out now and then.

References
    https://pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.nesting import turn
from gradviz.diagnosis.edits.training import hoisted
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import Dropped, Leaf, dropped, moments
from gradviz.program import History, RawSite, ScalerCall

_LEAST = 2  # steps that must agree


@rule("GV661", "accumulated-gradients-dropped", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that clears what was to add up."""
    steps = [each for each in learning.steps(history) if each.states]
    if history.of(ScalerCall):
        return  # a scaler leaves out the steps whose gradients overflowed
    inside = {each.site for each in steps}
    found: dict[RawSite | None, list[Dropped]] = defaultdict(list)
    for each in dropped(history):
        if inside.isdisjoint(each.again.stack):
            found[each.cleared.site].append(each)
    yield from _never_applied(history)
    for site, drops in found.items():
        after = [s for s in steps if s.index > drops[0].again.index]
        # Several optimizers step together: no pass runs between theirs.
        rounds = {turn(history, step.index) for step in after}
        between = {
            sum(each <= turn(history, drop.again.index) for each in rounds)
            for drop in drops
        }  # each stands for a round that lost a pass
        if len(rounds) >= _LEAST and len(between) >= len(rounds):
            together = turn(history, after[0].index)
            last = [s for s in after if turn(history, s.index) == together][-1]
            yield _hit(history, site, drops[0], last.site)


def _never_applied(history: History) -> Iterator[Hit]:
    """Yield the lines that clear the gradients of some leaves before every step.

    Others of the same optimizer get theirs later, from another pass.
    """
    met: dict[int, list[Leaf]] = defaultdict(list)
    steps = [each for each in moments(history) if each.what == "step"]
    for step in steps:
        for key, leaf in step.leaves.items() if step.of("fresh") else ():
            met[key].append(leaf)
    told: set[RawSite | None] = set()
    for leaves in met.values():
        cleared, made = leaves[0].cleared, leaves[0].backward
        always = len(leaves) >= _LEAST and all(each.state == "lost" for each in leaves)
        if always and cleared and made and cleared.site not in told:
            told.add(cleared.site)
            drop = Dropped(made, cleared, made)
            yield _hit(history, cleared.site, drop, steps[0].event.site)


def _hit(
    history: History, site: RawSite | None, drop: Dropped, step: RawSite | None
) -> Hit:
    others = [s for s in dict.fromkeys(e.site for e in drop.others) if s != site]
    clearing = [history.text(site) or "Clearing", *map(history.text, others)]
    calls = learning.joined(f"`{each}`" for each in clearing)
    when = (
        f"that pass runs again, and {history.line(step)} steps only after several of "
        "them. So each step applies the last of them alone."
    )
    if drop.again is drop.backward:
        when = (
            f"another pass runs, and {history.line(step)} steps after that one. So the "
            "step never applies them."
        )
    return Hit(
        f"{calls} {learning.plural(len(clearing), 'throws', 'throw')} away gradients "
        f"that were never applied: those of the backward pass in "
        f"{history.line(drop.backward.site)} are cleared before {when}",
        site,
        f"Clear the gradients once per step: right after {history.quoted(step)}.",
        symptom=step,
        edit=hoisted(site, *others, unless=step),
        related=(
            *(Related("gradients cleared here", each) for each in others),
            Related("gradients computed here", drop.backward.site),
            Related("gradients applied here", step),
        ),
        certainty=0.8,
    )
