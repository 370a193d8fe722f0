"""GV505: the steps are too long, and training diverges.

What it does
    Finds values that overflowed after the steps of an optimizer had made a parameter a
    million times as large as it was, and names who chose the learning rate.
Why is this bad
    Each step overshoots and makes the next gradient larger, until the loss is Inf and
    the parameters NaN. The op that overflows is not to blame.
Example
    ``torch.optim.SGD(net.parameters(), lr=100.0)``
Use instead
    A smaller ``lr``, a warm-up, or ``clip_grad_norm_`` before the step.
When it stays quiet
    Nothing overflows, or the parameters kept their size.
References
    Pascanu, Mikolov and Bengio, 2013.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.decisions.optimizers import of_rate
from gradviz.diagnosis.nonfinite_kinds import of_kind, runaway
from gradviz.diagnosis.rule import Hit, rule
from gradviz.diagnosis.rules._gradients import clips
from gradviz.program import History


@rule("GV505", "diverging-training", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the overflows after parameters had run away."""
    births = of_kind(history, "diverged")
    clipped = clips(history) if births else []
    if not all(each.inputs for each in clipped):
        return  # the clip that got no parameters is why: GV662 tells of it
    for birth in births:
        optimizer = runaway(history, birth)
        if optimizer is None:
            continue
        chosen = of_rate(history, optimizer)
        yield words.hit(
            history,
            birth,
            f"{words.source_of(history, birth)} gave {words.kind_of(birth)}, because "
            f"the steps of {optimizer.kind} ({history.line(optimizer.site)}) had made "
            f"the parameters more than a million times as large as they were "
            f"({words.operands(history, birth.call)}).",
            "Lower the learning rate"
            + ("." if clipped else ", or clip the gradients before the step."),
            chosen.site,
            line=chosen.line,
        )
