"""A ``detach()`` or ``.data`` cuts off layers that should learn.

What it does
    Finds ``detach()`` and ``.data`` on the way to a root where the leaves before them
    get no gradient in the whole run.

Why is this bad
    Nothing fails. The layers before the cut stay as they were initialised, and the
    layers after it learn to live with that.

Example
    ::

        features = torch.tanh(encoder(x)).detach()
        loss = head(features).pow(2).mean()

Use instead
    ::

        features = torch.tanh(encoder(x))
        loss = head(features).pow(2).mean()

When it stays quiet
    Straight-through estimators, stop-gradients beside a live branch, fakes that are
    detached for a discriminator, hidden states between chunks, logging: there the
    leaves are reached by another path or another pass, or no optimizer steps them. An
    information only where an error ended the run before a step.

References
    https://github.com/speechbrain/speechbrain/issues/1396
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut, drops_graph
from gradviz.dependence.op_families import plain
from gradviz.dependence.terms import StraightThrough, straight_through
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import Call, History


@cut_rule("GV306", "detach-in-forward", "detach")
def words(history: History, cut: Cut) -> Words:
    call = cut.call
    estimator = straight_through(history, call)
    if estimator is not None:
        return _estimated(history, call, estimator)
    spelled = "`.data`" if call.op == "data.get" else f"`.{call.op}()`"
    return Words(
        f"{spelled} in {history.line(call.site)} cuts the graph.",
        f"Remove {spelled}, or take what it cuts off out of the optimizer if it is "
        "not meant to learn.",
        call.site,
        edit=without_method(call.site, ("detach", "data")),
    )


def _estimated(history: History, cut: Call, found: StraightThrough) -> Words:
    """Tell of a straight-through estimator: its cut is meant, and a term is missing."""
    through, shown, passed = (
        name_of(history, each, "what it was given")
        for each in (found.result, found.shown, found.passed)
    )
    term = _compared(history, found)
    fix = (
        f"Give {shown} a term of its own, from before the estimator: "
        f"`F.mse_loss({shown.strip('`')}, {passed.strip('`')}.detach())`."
    )
    if term is None:
        return Words(
            f"The straight-through estimator in {history.line(cut.site)} hands the "
            f"gradient on to {passed}, none to {shown}, and no term of the loss is "
            f"computed from {shown} itself.",
            fix,
            cut.site,
        )
    return Words(
        f"`{history.text(term.site)}` compares {through}, which comes from a "
        f"straight-through estimator ({history.line(cut.site)}), with the detached "
        f"{passed}: its gradient goes to {passed} and none to {shown}.",
        f"Compare {shown} instead. {fix}",
        term.site,
        related=(Related("the gradient goes past here", cut.site),),
    )


def _compared(history: History, found: StraightThrough) -> Call | None:
    """Return the call that compares the result with what it passes on, detached."""
    for use in history.uses(found.result.tensor):
        for each in use.inputs if plain(use.op) in _COMPARING else ():
            made = history.producer(each, before=use.index)
            given = made.inputs[:1] if made is not None and drops_graph(made) else ()
            if any(value.tensor == found.passed.tensor for value in given):
                return use
    return None


_COMPARING = ("sub", "rsub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
