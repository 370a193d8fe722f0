"""Gradients are clipped when there are none to clip.

What it does
    Finds ``clip_grad_norm_``, ``clip_grad_value_`` and clamps of ``.grad`` where a step
    has used all of these gradients and no pass has added to them since, or where they
    were cleared and the next step uses only what a pass has added later.

Why is this bad
    The step took the gradients unclipped; the clipping has no effect.

Example
    ::

        loss.backward()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)

Use instead
    ::

        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

When it stays quiet
    Clipping before the step, whatever comes after it, and calls with a limit of
    infinity, which only ask for the norm.

References
    https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.nonfinite import births
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import Leaf, Moment, limits, moments
from gradviz.program import Call, Event, History


@rule("GV612", "clip-after-step", "warning", worst="error")
def check(history: History) -> Iterator[Hit]:
    for moment in moments(history):
        used, fresh = moment.of("used"), moment.of("fresh", "mixed")
        clips = isinstance(moment.event, Call) and limits(moment.event)
        if moment.what != "clip" or fresh or not clips:
            continue
        if used:
            yield _hit(history, moment, next(iter(used.values())))
        else:
            yield from _too_early(history, moment)


def _too_early(history: History, clip: Moment) -> Iterator[Hit]:
    """Yield a hit where the next to meet these gradients is a step that has some."""
    for later in moments(history):
        if (
            later.event.index <= clip.event.index
            or not later.leaves.keys() & clip.leaves
        ):
            continue
        leaf = later.leaves[min(later.leaves.keys() & clip.leaves)]
        if later.what == "step" and leaf.state == "fresh" and leaf.backward is not None:
            yield _early_hit(history, clip, leaf.backward, later.event)
        return


def _early_hit(history: History, clip: Moment, made: Event, step: Event) -> Hit:
    return Hit(
        f"`{history.text(clip.event.site)}` comes before {history.line(made.site)} has "
        "computed the gradients: it clips what is not there yet, and "
        f"{history.line(step.site)} applies them unclipped.",
        clip.event.site,
        "Clip between `backward()` and `step()`.",
        symptom=step.site,
        related=(Related("applied here, unclipped", step.site),),
        edit=moved(clip.event.site, made.site, after=True, safe=True),
    )


def _hit(history: History, moment: Moment, leaf: Leaf) -> Hit:
    step = leaf.step.site if leaf.step is not None else None
    return Hit(
        f"`{history.text(moment.event.site)}` comes after {history.line(step)} has "
        "applied the gradients: it clips what nothing will use.",
        moment.event.site,
        "Clip between `backward()` and `step()`.",
        symptom=step,
        related=(Related("applied here, unclipped", step),),
        edit=moved(moment.event.site, step, safe=True),
        severity="error" if births(history) else None,  # what came of it
    )
