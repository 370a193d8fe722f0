"""Answers about a module: whether it is in the graph, and which of it learns."""

from __future__ import annotations

from gradviz.answers import parameter
from gradviz.answers.answer import Step, Why
from gradviz.answers.run import Run
from gradviz.answers.words import never_called
from gradviz.dependence import learning
from gradviz.program import Module
from gradviz.text.words import counted

QUESTIONS = ["graph", "learns"]
"""What can be asked of a module; both are answered together."""


def answer(run: Run, module: Module, question: str) -> Why:
    """Say whether the calls of a module reach a loss, and which of it learns."""
    name = module.name or module.kind
    own = sorted(learning.all_parameters(run.history, module))
    taught = [each for each in own if run.gradients(each).passes]
    apart = [each for each in own if not run.gradients(each).passes]
    if not module.calls and not taught:
        verdict = f"{name} is not in the graph: it was never called."
        steps = [never_called(run, module)]
        return Why(name, "module", question, verdict, tuple(steps))
    if not own:
        verdict = (
            f"{name} was called {counted(module.calls, 'time')} and has no parameters."
        )
        return Why(name, "module", question, verdict)
    total = counted(len(own), "parameter")
    if not apart:
        few = {1: "its only parameter", 2: "both of its parameters"}
        every = few.get(len(own), f"all {len(own)} of its parameters")
        verdict = f"{name} learns: backward passes reach {every}."
        steps = [_shown(run, own[0])]
        return Why(name, "module", question, verdict, tuple(steps))
    verdict = f"{name} does not learn: no gradient comes to its {total}."
    if taught:
        missed = f"{len(apart)} of its {total}"
        verdict = f"{name} learns in part: no gradient comes to {missed}."
    why = parameter.answer(run, apart[0], "none")
    first = run.step("state", f"Take {why.subject}:")
    return Why(name, "module", question, verdict, (first, *why.steps), why.finding)


def _shown(run: Run, tensor: int) -> Step:
    why = parameter.answer(run, tensor, "learns")
    return next(
        (each for each in why.steps if each.kind == "loss"),
        run.step("state", why.verdict),
    )
