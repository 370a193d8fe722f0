"""Gradients are clipped of no parameter at all.

What it does
    Finds ``clip_grad_norm_``, ``clip_grad_value_`` and ``clip_grads_with_norm_`` with
    an empty collection, where the step that follows applies gradients: an iterator that
    was walked before, or a list that a condition picked nothing for.

Why is this bad
    ``model.parameters()`` is an iterator: it can be walked once. Kept in a variable
    that an optimizer has used up, it is empty for everybody else. The clipping does
    nothing, returns a norm of 0, and says nothing.

Example
    ::

        params = model.parameters()
        optimizer = torch.optim.SGD(params, lr=0.1)
        torch.nn.utils.clip_grad_norm_(params, 1.0)

Use instead
    ::

        params = list(model.parameters())
        optimizer = torch.optim.SGD(params, lr=0.1)
        torch.nn.utils.clip_grad_norm_(params, 1.0)

When it stays quiet
    Where no step with gradients follows.

References
    https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import Decision, decided
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.decisions.iterators import made_once
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.training import walked_again
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import clips
from gradviz.program import Call, History, OptimizerCall, RawSite, following


@rule("GV662", "clip-of-nothing", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that clips nothing."""
    told: set[RawSite | None] = set()
    steps = learning.steps(history)
    for call in clips(history):
        later = () if call.inputs else following(steps, call.index)
        step = next(iter(later), None)
        if step is None or call.site in told:
            continue
        if not any(state.has_grad for state in step.states):
            continue  # there was nothing to clip
        told.add(call.site)
        yield _hit(history, call, step)


def _hit(history: History, clip: Call, step: OptimizerCall) -> Hit:
    where = spot(history, clip.site, clip.stack)
    asked = None if where is None else given(where, 0, ("parameters",))
    picks = None if asked is None else _picks(asked)
    made = _made(history, asked) if picks is None else decided(history, picks, None)
    why, fix = _iterator_words(history, made.site) if picks is None else _words(picks)
    return Hit(
        f"`{history.text(clip.site) or clip.op}` got no parameters: nothing is "
        f"clipped, and {history.line(step.site)} applies the gradients as they are. "
        f"{why}",
        made.site or clip.site,
        fix,
        line=made.line,
        symptom=step.site if made.site in (None, clip.site) else clip.site,
        edit=walked_again(made.site, safe=True) if picks is None else None,
        related=(Related("applied here, unclipped", step.site),),
    )


def _made(history: History, asked: Spot | None) -> Decision:
    """Return the line that made the iterator which was empty for a call."""
    made = None if asked is None else made_once(asked)
    return Decision(None if made is None else site_of(history, made))


def _picks(asked: Spot) -> Spot | None:
    """Return the list that was picked by a condition, for good."""
    last = path(asked)[-1]
    picked = isinstance(last.node, ast.ListComp) and last.node.generators[0].ifs
    return last if picked else None


def _iterator_words(history: History, made: RawSite | None) -> tuple[str, str]:
    how = (
        "An iterator such as `parameters()` gives is"
        if made is None
        else f"The iterator that {history.line(made)} makes is"
    )
    return (
        f"{how} empty once an optimizer or a loop has walked it.",
        "Make a list of it, which can be walked again.",
    )


def _words(picks: Spot) -> tuple[str, str]:
    """Say why a condition picked nothing, and what to do."""
    comprehension = picks.node
    assert isinstance(comprehension, ast.ListComp)
    condition = comprehension.generators[0].ifs[0]
    why = f"`{ast.unparse(condition)}` held for none when line {picks.line} picked them"
    read = {e.attr for e in ast.walk(condition) if isinstance(e, ast.Attribute)}
    if "grad" not in read:
        return f"{why}.", "Check that condition."
    return (
        f"{why}: before the first backward pass, nothing has a gradient.",
        "Ask for `requires_grad` instead, or pick them after the backward pass.",
    )
