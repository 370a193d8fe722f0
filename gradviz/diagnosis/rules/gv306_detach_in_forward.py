"""A ``detach()`` or ``.data`` cuts off layers that should learn.

What it does
    Finds ``detach()`` and ``.data`` on the way to a root where the leaves before them
    get no gradient in the whole run. Also one on the way to a term of a loss that
    teaches nobody so, or of whose way to what its pass trains only networks are left
    that other passes train: a discriminator in the step of the generator.

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

import ast

from gradviz.dependence import learning
from gradviz.dependence.cuts import Cut, cuts, drops_graph
from gradviz.dependence.op_families import DISTANCES, plain
from gradviz.dependence.terms import StraightThrough, straight_through
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.edits.draft import parsed_expression
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.writes import item_bound_anew
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import Call, History


@cut_rule("GV306", "detach-in-forward", "detach")
def words(history: History, cut: Cut) -> Words | None:
    call = cut.call
    estimator = straight_through(history, call)
    if estimator is not None:
        return _estimated(history, call, estimator)
    if cut.lost <= _passed_over(history):
        return None
    spelled = "`.data`" if call.op == "data.get" else f"`.{call.op}()`"
    return Words(
        f"{spelled} in {history.line(call.site)} cuts the graph.",
        f"Remove {spelled}, or leave the term out if it is not to teach them."
        if cut.term
        else f"Remove {spelled}, or take what it cuts off out of the optimizer if it "
        "is not meant to learn.",
        call.site,
        edit=first_of(
            item_bound_anew(call.site), without_method(call.site, ("detach", "data"))
        ),
    )


@learning.once
def _passed_over(history: History) -> set[int]:
    """Return the leaves that a term was to teach and an estimator keeps from it.

    There the term is to change: other losses of the kind detach them on purpose.
    """
    found = set[int]()
    for cut in cuts(history):
        estimator = straight_through(history, cut.call)
        if estimator is not None and _compared(history, estimator) is not None:
            found |= cut.lost
    return found


def _estimated(history: History, cut: Call, found: StraightThrough) -> Words:
    """Tell of a straight-through estimator: its cut is meant, and a term is missing."""
    through, shown, passed = (
        name_of(history, each, "the input")
        for each in (found.result, found.shown, found.passed)
    )
    term = _compared(history, found)
    own = f"`F.mse_loss({shown.strip('`')}, {passed.strip('`')}.detach())`"
    if term is None:
        return Words(
            f"The straight-through estimator in {history.line(cut.site)} hands the "
            f"gradient on to {passed}, none to {shown}, and no term of the loss is "
            f"computed from {shown} itself.",
            f"Give {shown} a term of its own, from before the estimator: {own}.",
            cut.site,
        )
    here, there = history.line(term.site), history.line(cut.site)
    if through == shown:  # one name for both: the line stands too early
        before = history.producer(found.shown)
        old = history.line(None if before is None else before.site)
        return Words(
            f"From {there} on, {shown} is the result of a straight-through estimator, "
            f"which hands its gradient to {passed} alone. `{history.text(term.site)}` "
            f"({here}) compares that with the detached {passed}, so nothing behind the "
            f"{shown} of {old} learns from it.",
            f"Move {there} below {here}, so that the loss is computed from the "
            f"{shown} of {old}.",
            cut.site,
            related=(Related("compared here", term.site),),
        )
    if term.site and cut.site and term.site[0] is cut.site[0]:
        fix = f"Compare {shown} of {there} instead, from before the estimator: {own}."
    else:
        fix = _passed_on(history, found, term) or (
            f"Let {there} hand on {shown}, from before the estimator, too, and compare "
            f"that in {here}."
        )
    result, constant = _sides(history, found, term) or (through, passed)
    return Words(
        f"In {here}, {result} is the result of a straight-through estimator "
        f"(`{history.text(cut.site)}`, {there}), which hands its gradient to "
        f"{constant} alone, and {constant} is detached here. So {shown} of {there} "
        "gets no gradient from this term.",
        fix,
        term.site,
        related=(Related("straight-through estimator here", cut.site),),
    )


def _sides(
    history: History, found: StraightThrough, term: Call
) -> tuple[str, str] | None:
    """Return how a term spells what an estimator gave, and what it is compared with."""
    text = history.text(term.site)
    call = parsed_expression(text)
    given = call.args if isinstance(call, ast.Call) else []
    place = [value.tensor for value in term.inputs[:2]].index(found.result.tensor)
    if len(given) < 2:
        return None
    match given[1 - place]:
        case ast.Call(ast.Attribute(other, "detach")):
            sides = (ast.get_source_segment(text, e) for e in (given[place], other))
            return f"`{next(sides)}`", f"`{next(sides)}`"
        case _:
            return None


def _passed_on(history: History, found: StraightThrough, term: Call) -> str:
    """Return the term of what was looked up, where its function has that as well."""
    sides, text = _sides(history, found, term), history.text(term.site)
    for use in history.uses(found.shown.tensor):
        if sides is None or not use.site or not term.site:
            break
        spelt = history.text(use.site).removesuffix(".detach()")
        if use.site[0] is term.site[0] and use.op == "detach" and spelt:
            new = text.replace(sides[0].strip("`"), spelt, 1)
            return f"Write `{new}`: `{spelt}` is from before the estimator."
    return ""


def _compared(history: History, found: StraightThrough) -> Call | None:
    """Return the call that compares the result with what it passes on, detached."""
    for use in history.uses(found.result.tensor):
        for each in use.inputs if plain(use.op) in _COMPARING else ():
            made = history.producer(each, before=use.index)
            given = made.inputs[:1] if made is not None and drops_graph(made) else ()
            if any(value.tensor == found.passed.tensor for value in given):
                return use
    return None


_COMPARING = DISTANCES | {"sub", "rsub"}
