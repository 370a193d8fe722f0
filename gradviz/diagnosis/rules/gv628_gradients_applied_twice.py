"""An optimizer steps with gradients that a step has applied already.

What it does
    Finds steps whose gradients have all been used by a step before, with no pass in
    between that added to them.

Why is this bad
    The same gradients move the parameters twice, along a direction that belongs to
    where they were before. Two optimizers over the same parameters do so in each
    iteration.

Example
    ::

        loss.backward()
        encoder_optimizer.step()
        optimizer.step()  # has the encoder's parameters as well

Use instead
    Give each parameter to one optimizer, and step once after each ``backward()``.

When it stays quiet
    A pass, or the program itself, has changed or read any of the gradients since; the
    gradients were cleared; the step runs passes of its own (a closure).

References
    https://pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import Leaf, Moment, moments
from gradviz.diagnosis.rules.gv643_optimizer_given_twice import given_twice
from gradviz.program import Backward, Call, History, OptimizerCall, RawSite


@rule("GV628", "gradients-applied-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    closures = {site for each in history.backwards for site in each.stack}
    told: set[RawSite | None] = set()
    inside = _with_passes_inside(history)
    told_before = {o.key for pair in given_twice(history) for o in pair[:2] if o}
    for moment in moments(history):
        event = moment.event
        if not isinstance(event, OptimizerCall) or event.site in closures | told:
            continue
        if event.index in inside or event.optimizer in told_before:
            continue
        used = _used(moment, event)
        if used:
            told.add(event.site)
            yield _hit(history, event, used)


def _with_passes_inside(history: History) -> set[int]:
    """Return the steps that ran passes before they wrote: a log may know no stacks."""
    found, begun, passes = set[int](), -1, False
    for event in history.events:
        if isinstance(event, OptimizerCall) and event.what == "step":
            begun, passes = event.index, False
        elif isinstance(event, Backward):
            passes = True
        elif isinstance(event, Call) and event.op == "step" and passes:
            found.add(begun)
    return found


def _used(moment: Moment, step: OptimizerCall) -> dict[int, Leaf]:
    """Return the leaves with gradients, if a step has used every one of them."""
    given = {each.tensor for each in step.states if each.has_grad and not each.zero}
    if not given or given - moment.leaves.keys():
        return {}
    leaves = {key: moment.leaves[key] for key in given}
    stale = all(leaf.state == "used" and not leaf.read for leaf in leaves.values())
    return leaves if stale else {}


def _hit(history: History, step: OptimizerCall, used: dict[int, Leaf]) -> Hit:
    leaf = next(iter(used.values()))
    assert leaf.step is not None
    assert leaf.backward is not None
    before = leaf.step
    other = isinstance(before, OptimizerCall) and before.optimizer != step.optimizer
    names = learning.listed(history, used)
    who = "another optimizer has applied" if other else "a step has applied"
    return Hit(
        f"{history.quoted(step.site)} applies the same gradients of {names} a second "
        f"time: {who} them already ({history.line(before.site)}), and no backward pass "
        f"has computed new gradients since {history.line(leaf.backward.site)}.",
        step.site,
        "Give each parameter to one optimizer only."
        if other
        else "Step once after each `backward()`.",
        symptom=step.site,
        related=(
            Related("applied first here", before.site),
            Related("gradients computed here", leaf.backward.site),
        ),
        tensors=tuple(used),
        certainty=0.85 if other else 1.0,  # what gave them to both says more
    )
