"""Answers about a loss: whom a pass from it reaches, and whom it misses."""

from __future__ import annotations

from gradviz.answers import terms
from gradviz.answers.answer import Step, Why
from gradviz.answers.error import pass_raised
from gradviz.answers.loss_of_gradient import parameters_behind, way_lost
from gradviz.answers.run import Run
from gradviz.answers.words import gate_words
from gradviz.dependence import learning
from gradviz.program import Backward
from gradviz.text.words import counted

QUESTIONS = ["reach"]

_MOST_TOLD = 4  # gates


def answer(run: Run, tensor: int, backward: Backward) -> Why:
    """Say which parameters a pass reached, and at which gates others lie behind."""
    name = run.name(tensor, "the loss")
    if backward.error is not None:
        return _raised(run, name, backward)
    everyone, reached = set(run.learnable()), set(backward.leaves)
    met, total = len(reached & everyone), len(everyone)
    verdict = f"{name} teaches {met} of {total} parameters."
    steps: list[Step] = []
    if reached & everyone:
        listed = learning.listed(run.history, reached & everyone)
        words = f"The pass in {run.line(backward.site)} reached {listed}."
        steps.append(run.step("pass", words, event=backward))
    steps += terms.of_loss(run, backward, everyone)
    steps += _missed(run, run.known_like(backward), everyone - reached)
    return Why(name, "loss", "reach", verdict, tuple(steps))


def _raised(run: Run, name: str, backward: Backward) -> Why:
    """Say that a pass gave nothing, and how many of its line did before it."""
    alike = [each for each in run.history.backwards if each.site == backward.site]
    over = [each for each in alike if each.error is None]
    whom = "nobody: its" if not over else "nobody in the end: its last"
    verdict = f"{name} teaches {whom} backward pass raised."
    steps, code = pass_raised(run, backward)
    if over:
        words = f"{counted(len(over), 'pass')} of that line ended as they should."
        steps.insert(0, run.step("pass", words, event=over[-1]))
    return Why(name, "loss", "reach", verdict, tuple(steps), code)


def _missed(run: Run, backward: Backward | None, missed: set[int]) -> list[Step]:
    """Return the gates before the parameters that a root depends on and not reaches.

    Nothing where no pass of the loss is known in full.
    """
    if backward is None:
        return []
    steps: list[Step] = []
    told: set[int] = set()
    for tensor in sorted(missed):
        if tensor in told or len(steps) == _MOST_TOLD:
            continue
        for root in run.graph.roots(backward):
            way = way_lost(run, tensor, backward, root)
            gate = None if way is None else way.decision
            if gate is None:
                continue
            behind = (parameters_behind(run, gate) & missed) | {tensor}
            told |= behind
            listed = learning.listed(run.history, behind)
            words = f"It depends on {listed} as well, but {gate_words(run, gate)}."
            steps.append(
                run.step("gate", words, gate.place, event=gate.call, decision=not steps)
            )
    apart = missed - told
    if apart and len(steps) < _MOST_TOLD:
        listed = learning.listed(run.history, apart)
        steps.append(run.step("state", f"It does not depend on {listed}."))
    return steps
