"""One of several optimizers never steps, though gradients are made for it.

What it does
    Finds optimizers that never step in a run in which others do, although at least two
    backward passes were for their parameters alone, or their gradients were cleared at
    least twice with nothing done with them. Where another optimizer steps behind these
    passes, and behind its own, that step is to blame; where a loop steps the others,
    what chose those.

Why is this bad
    This part of the model stays as it was initialised, and the parts that depend on it
    learn from noise. Nothing is said: an optimizer that waits is no error.

Example
    ::

        critic_optimizer.zero_grad()
        critic_loss.backward()
        actor_loss.backward()
        actor_optimizer.step()

Use instead
    ::

        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        actor_loss.backward()
        actor_optimizer.step()

When it stays quiet
    Another optimizer or the program itself updates the same parameters, the program
    reads their gradients, the run was cut short by an exception, or a pass gave them
    gradients on the way to others, as an adversarial loss does.

References
    https://pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradviz.diagnosis.decisions.decision import Decision
from gradviz.diagnosis.decisions.loops import of_objects
from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.edits.training import beside_pass, of_another
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import by_hand, passes_into
from gradviz.diagnosis.rules._loop_helpers import (
    ever_stepped,
    misplaced,
    moves,
    optimizer_words,
    or_uncalled,
    read_gradients,
    wasted_passes,
)
from gradviz.program import Backward, History, Optimizer


@rule("GV640", "optimizer-never-steps", "warning")
def check(history: History) -> Iterator[Hit]:
    stepped = moves(history)
    if history.raised is not None or not any(
        len(made) > 1 for made in stepped.values()
    ):
        return
    optimizers = history.program.optimizers
    busy = {t for key in stepped if key in optimizers for t in optimizers[key].tensors}
    used = busy | by_hand(history) | read_gradients(history)
    for optimizer in optimizers.values():
        mine = set(optimizer.tensors)
        if optimizer.key in ever_stepped(history) or mine & used:
            continue
        passes = wasted_passes(history, optimizer, (optimizer.key,))
        if len(passes) < 2:
            passes = _for_it_alone(history, mine, busy)
        if len(passes) >= 2:
            yield _hit(history, optimizer, passes[0])


def _for_it_alone(history: History, mine: set[int], busy: set[int]) -> list[Backward]:
    """Return the passes that reach these tensors and none that an optimizer steps."""
    return [e for e in passes_into(history, mine) if busy.isdisjoint(e.leaves)]


def _hit(history: History, optimizer: Optimizer, made: Backward) -> Hit:
    name, step = optimizer_words(history, optimizer.key), optimizer.name or "optimizer"
    gradients = Related("its gradients are computed here", made.site)
    wrong = {at for at, key in misplaced(history).items() if key == optimizer.key}
    chosen = None if wrong else _left_out(history)
    site, line, slip = or_uncalled(history, optimizer.site, "step")
    found = Hit(
        f"{name} never steps, while another optimizer does: the gradients that "
        f"{history.line(made.site)} computes for its parameters change nothing.{slip}",
        site,
        f"Call `{step}.step()` after that `backward()`.",
        symptom=made.site,
        related=(gradients,),
        tensors=optimizer.tensors,
        line=line,
        edit=called_at(site, line)
        if line is not None
        else beside_pass(made.site, optimizer.name, "step", after=True),
        certainty=0.8,
    )
    if wrong:
        site = wrong.pop()
        found = replace(
            found,
            message=f"{name} never steps: after the pass in {history.line(made.site)}, "
            f"which is for its parameters, {history.quoted(site)} steps another "
            "optimizer, which has a step of its own elsewhere.",
            culprit=site,
            fix=f"Write `{step}.step()` here.",
            related=(
                gradients,
                Related("the optimizer that waits is made here", optimizer.site),
            ),
            line=None,
            edit=of_another(site, optimizer.name),
            certainty=0.9,
        )
    elif chosen is not None:
        found = replace(
            found,
            message=f"{name} never steps: the loop around "
            f"{history.quoted(chosen.made)} steps another optimizer and leaves it out. "
            f"The gradients that {history.line(made.site)} computes for its parameters "
            "change nothing.",
            culprit=chosen.site,
            fix="Let the loop step it, too.",
            line=chosen.line,
            edit=None,
        )
    return found


def _left_out(history: History) -> Decision | None:
    """Return the line that chose which optimizers a loop steps, if one does."""
    for steps in moves(history).values():
        chosen = of_objects(history, steps[0].site)
        if chosen is not None:
            return chosen
    return None
