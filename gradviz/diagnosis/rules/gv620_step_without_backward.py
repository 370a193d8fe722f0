"""The optimizer steps, and no backward pass ever ran.

What it does
    Finds optimizers that step in a run without a single backward pass, and whose
    parameters never have a gradient.

Why is this bad
    ``step()`` skips parameters without a gradient and says nothing: nothing is trained.

Example
    ::

        loss = criterion(net(x), y)
        optimizer.step()

Use instead
    ::

        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()

When it stays quiet
    Where any pass ran, or was tried, or the program sets ``.grad`` itself. A single
    step is an information only: schedulers are sometimes wound forward that way.

References
    https://pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.rule import Hit, rule
from gradviz.diagnosis.rules._loop_helpers import or_uncalled
from gradviz.program import History, OptimizerCall


@rule("GV620", "step-without-backward", "warning")
def check(history: History) -> Iterator[Hit]:
    if history.backwards:
        return
    for key, made in learning.steps_of(history).items():
        states = [state for step in made for state in step.states]
        if states and not any(state.has_grad for state in states):
            yield _hit(history, key, made)


def _hit(history: History, key: int, steps: list[OptimizerCall]) -> Hit:
    optimizer = history.program.optimizers.get(key)
    name = f"`{optimizer.name}`" if optimizer and optimizer.name else "The optimizer"
    several = len(steps) > 1
    times = f"{len(steps)} times" if several else "once"
    site, line, slip = or_uncalled(history, steps[0].site, "backward")
    return Hit(
        f"{name} steps {times}, and no backward pass ever ran: no parameter has a "
        f"gradient, and the steps change nothing.{slip}",
        site,
        "Call `backward()` on the loss before `step()`.",
        severity="warning" if several else "info",
        symptom=steps[0].site,
        line=line,
        edit=called_at(site, line) if line is not None else None,
    )
