"""``zero_grad()`` came between ``backward()`` and ``step()``.

What it does
    Finds steps all of whose gradients were cleared after the pass that made them.

Why is this bad
    The step has nothing to apply. Nothing fails, and nothing is trained.

Example
    ::

        loss.backward()
        optimizer.zero_grad()
        optimizer.step()

Use instead
    ::

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

When it stays quiet
    ``backward, step, zero_grad`` in a loop, which is the same; clearing what another
    loss left behind before the next pass; skipped batches.

References
    https://pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import Leaf, Moment, moments
from gradviz.program import History, OptimizerCall


@rule("GV611", "zero-grad-before-step", "warning")
def check(history: History) -> Iterator[Hit]:
    for moment in moments(history):
        lost, live = moment.of("lost"), moment.of("fresh", "mixed")
        if live:
            passes = [leaf.backward for leaf in live.values()]
            lost = {
                key: leaf
                for key, leaf in lost.items()
                if leaf.backward in passes and _by_other(moment, leaf)
            }
        elif not _is_empty(moment):
            continue
        if moment.what != "clip" and lost:
            yield _hit(history, moment, lost)


_MODULE = 0  # instead of an optimizer: ``Module.zero_grad()``, often of a frozen part


def _is_empty(moment: Moment) -> bool:
    """Return whether a step found no gradient, or only zeros."""
    event = moment.event
    if not isinstance(event, OptimizerCall):
        return True
    return not any(each.has_grad and not each.zero for each in event.states)


def _by_other(moment: Moment, leaf: Leaf) -> bool:
    """Return whether another optimizer cleared a gradient before its own stepped."""
    step, clear = moment.event, leaf.cleared
    if not isinstance(step, OptimizerCall) or not isinstance(clear, OptimizerCall):
        return False
    return clear.optimizer not in (_MODULE, step.optimizer)


def _hit(history: History, moment: Moment, lost: dict[int, Leaf]) -> Hit:
    leaf = next(iter(lost.values()))
    assert leaf.backward is not None
    assert leaf.cleared is not None
    names = learning.listed(history, lost)
    return Hit(
        f"`{history.text(leaf.cleared.site)}` throws the gradients of {names} away "
        f"after the pass in {history.line(leaf.backward.site)} and before "
        f"{history.line(moment.event.site)} applies them: nothing is left to apply.",
        leaf.cleared.site,
        "Clear before `backward()`, or after `step()`.",
        symptom=moment.event.site,
        related=(
            Related("computed here", leaf.backward.site),
            Related("to be applied here", moment.event.site),
        ),
        tensors=tuple(lost),
        edit=moved(leaf.cleared.site, leaf.backward.site, safe=True),
    )
