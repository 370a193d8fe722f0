"""An optimizer steps with gradients that a gradient scaler has made larger.

What it does
    Finds ``optimizer.step()`` after ``scaler.scale(loss).backward()`` where nobody has
    unscaled the gradients in between.

Why is this bad
    The gradients are 65,536 times too large, and the step with them. Optimizers that
    divide by the size of gradients, such as Adam, hide it; the others diverge. An
    overflow is not skipped either.

Example
    ::

        scaler.scale(loss).backward()
        optimizer.step()
        scaler.update()

Use instead
    ::

        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

When it stays quiet
    ``scaler.step(optimizer)``, or ``scaler.unscale_(optimizer)`` before the step; a
    scaler that is not enabled.

References
    https://pytorch.org/docs/stable/notes/amp_examples.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.training import unscaled
from gradviz.diagnosis.nonfinite import births
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import meetings
from gradviz.program import History, OptimizerCall


@rule("GV626", "scaled-gradients-applied", "warning", worst="error")
def check(history: History) -> Iterator[Hit]:
    for met in meetings(history):
        if isinstance(met.event, OptimizerCall):
            row = history.program.optimizers.get(met.event.optimizer)
            name = row.name if row is not None and row.name else "optimizer"
            spoilt = any(each.poisoned is not None for each in births(history))
            yield Hit(
                f"`{history.text(met.event.site)}` applies gradients that are "
                f"{met.times} too large: the loss was scaled in "
                f"{history.line(met.scale.site)}, and nobody has unscaled them.",
                met.event.site,
                f"Call `scaler.step({name})` instead, which unscales them and skips "
                "overflows, and `scaler.update()` after it.",
                symptom=met.event.site,
                related=(Related("loss scaled here", met.scale.site),),
                edit=unscaled(met.event.site, met.scale.site, name, step=True),
                severity="error" if spoilt else None,  # what came of it
            )
            return
