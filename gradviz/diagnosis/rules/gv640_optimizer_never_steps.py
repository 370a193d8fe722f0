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

from gradviz.diagnosis.decisions.decision import Decision
from gradviz.diagnosis.decisions.loops import of_objects
from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.edits.training import beside_pass, of_another
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import by_hand, is_failed
from gradviz.diagnosis.rules._loop_helpers import (
    ever_stepped,
    misplaced,
    moves,
    optimizer_words,
    or_uncalled,
    read_gradients,
    wasted_passes,
)
from gradviz.program import Backward, History, Optimizer, RawSite


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
    return [
        each
        for each in history.backwards
        if each.api == "backward"
        and not is_failed(each)
        and set(each.leaves) & mine
        and not set(each.leaves) & busy
    ]


def _hit(history: History, optimizer: Optimizer, made: Backward) -> Hit:
    step = f"{optimizer.name or 'optimizer'}.step()"
    wrong = {at for at, key in misplaced(history).items() if key == optimizer.key}
    if wrong:
        return _wrong_step(history, optimizer, made, wrong.pop())
    chosen = _left_out(history)
    if chosen is not None:
        return _not_walked(history, optimizer, made, chosen)
    site, line, slip = or_uncalled(history, optimizer.site, "step")
    return Hit(
        f"{optimizer_words(history, optimizer.key)} never steps, while another "
        f"optimizer does: the gradients that {history.line(made.site)} computes for "
        f"its parameters change nothing.{slip}",
        site,
        f"Call `{step}` after that `backward()`.",
        symptom=made.site,
        related=(Related("its gradients are computed here", made.site),),
        tensors=optimizer.tensors,
        line=line,
        edit=called_at(site, line)
        if line is not None
        else beside_pass(made.site, optimizer.name, "step", after=True),
        certainty=0.8,
    )


def _left_out(history: History) -> Decision | None:
    """Return the line that chose which optimizers a loop steps, if one does."""
    for steps in moves(history).values():
        chosen = of_objects(history, steps[0].site)
        if chosen is not None:
            return chosen
    return None


def _not_walked(
    history: History, optimizer: Optimizer, made: Backward, chosen: Decision
) -> Hit:
    """Return the hit for an optimizer that the loop of the others' steps leaves out."""
    return Hit(
        f"{optimizer_words(history, optimizer.key)} never steps: the loop around "
        f"`{history.text(chosen.made)}` ({history.line(chosen.made)}) steps another "
        f"optimizer and leaves it out. The gradients that {history.line(made.site)} "
        "computes for its parameters change nothing.",
        chosen.site,
        "Let the loop step it, too.",
        symptom=made.site,
        related=(Related("its gradients are computed here", made.site),),
        tensors=optimizer.tensors,
        line=chosen.line,
        certainty=0.8,
    )


def _wrong_step(
    history: History, optimizer: Optimizer, made: Backward, site: RawSite
) -> Hit:
    """Return the hit for a step of another optimizer where this one's should be."""
    step = f"{optimizer.name or 'optimizer'}.step()"
    return Hit(
        f"{optimizer_words(history, optimizer.key)} never steps: after the pass in "
        f"{history.line(made.site)}, which is for its parameters, "
        f"`{history.text(site)}` ({history.line(site)}) steps another optimizer, which "
        "has a step of its own elsewhere.",
        site,
        f"Write `{step}` here.",
        symptom=made.site,
        related=(
            Related("its gradients are computed here", made.site),
            Related("the optimizer that waits is made here", optimizer.site),
        ),
        tensors=optimizer.tensors,
        edit=of_another(site, optimizer.name),
        certainty=0.9,
    )
