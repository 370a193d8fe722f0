"""A loss that needs log-probabilities is given something else.

What it does
    Finds ``nll_loss`` and ``kl_div`` whose first argument has values above 0, or comes
    straight from ``softmax`` or ``sigmoid``. The softmax is to blame, or the call of
    the loss where the program computes with the probabilities, too.

Why is this bad
    The logarithm of a probability is never above 0. Without it the loss is no distance
    at all: it falls without bound as the outputs grow, or hardly moves, and no error
    is raised.

Example
    ``F.nll_loss(net(x), target)``, ``F.kl_div(F.softmax(out, 1), target)``

Use instead
    ``F.cross_entropy(net(x), target)``, ``F.kl_div(F.log_softmax(out, 1), target)``

When it stays quiet
    No value is above 0, but for what rounding adds, and no softmax is seen.

References
    https://pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
    https://pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.decision import of_function, of_step
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.edits.calls import renamed
from gradviz.diagnosis.edits.shapes import argument_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_LOSSES = words("nll_loss nll_loss_nd nll_loss2d kl_div ctc_loss")
_PROBABILITIES = words("softmax sigmoid softmin")
_LAYERS = words("Softmax Softmin Sigmoid")
_CRITERIA = words("NLLLoss NLLLoss2d KLDivLoss CTCLoss")
_ROUNDING = 1e-3
_SO = "so its loss is no negative log-likelihood, and its gradient is wrong"
_ORDERING = words("argmax max topk sort argsort detach cpu")


@rule("GV629", "not-log-probabilities", "warning")
def check(history: History) -> Iterator[Hit]:
    told: set[RawSite | None] = set()
    for call in history.calls:
        if call.op not in _LOSSES or not call.inputs or call.site in told:
            continue
        maker = history.producer(call.inputs[0], call.index)
        made = maker if maker is not None and maker.op in _PROBABILITIES else None
        summary = call.inputs[0].summary
        highest = None if summary is None else summary.maximum
        above = highest is not None and highest > _ROUNDING
        if made is not None or above:
            told.add(call.site)
            yield _hit(history, call, made, highest)


def _is_needed(history: History, made: Call) -> bool:
    """Tell whether the program computes with these probabilities elsewhere, too.

    What only compares them, as a choice of the best does, can do so with logarithms.
    """
    return any(
        use.op not in (*_LOSSES, *_ORDERING) and use.outputs
        for each in history.calls
        if each.site == made.site and each.op == made.op
        for use in history.uses(each.outputs[0].tensor)
    )


def _of_loss(history: History, call: Call, made: Call) -> Hit:
    given = history.bare_name(call.inputs[0]) or history.text(made.site)
    return Hit(
        f"`{history.text(call.site)}` needs log-probabilities, which are never above "
        f"0, but `{given}` holds probabilities, of {history.quoted(made.site)}, {_SO}. "
        "Elsewhere the program needs the probabilities.",
        call.site,
        f"Give it the logarithm: `{given}.clamp_min(1e-8).log()`, or `log_softmax` of "
        "what the softmax was given.",
        related=(Related("the probabilities", made.site),),
        tensors=(call.inputs[0].tensor,),
    )


def _of_scores(history: History, call: Call, reason: str) -> Hit:
    where = spot(history, call.site, call.stack)
    scores = None if where is None else given(where, 0, ("input", "log_probs"))
    name = "scores" if scores is None else ast.unparse(scores.node)
    dim = "-1" if "ctc" in call.op or len(call.inputs[0].shape) < 3 else "1"
    return Hit(
        f"`{history.text(call.site)}` needs log-probabilities, which are never above "
        f"0, {reason}, {_SO}.",
        call.site,
        f"Give it `{name}.log_softmax({dim})`.",
        tensors=(call.inputs[0].tensor,),
        edit=argument_followed_by(call.site, name, f".log_softmax({dim})"),
    )


def _hit(history: History, call: Call, made: Call | None, highest: float | None) -> Hit:
    given = history.name(call.inputs[0], "its input")
    reason = (
        f"but {given} has values up to {highest:.3g}"
        if made is None
        else f"but {given} holds probabilities, of {history.quoted(made.site)}"
    )
    if made is not None and _is_needed(history, made):
        return _of_loss(history, call, made)
    if made is None and "nll" not in call.op:  # no other criterion takes what it is
        return _of_scores(history, call, reason)
    chosen = (
        of_function(history, call, _CRITERIA)
        if made is None
        else of_step(history, made, _LAYERS)
    )
    instead = "F.cross_entropy(logits, target)"
    other = "`log_softmax` in place of `softmax`" if made else "`log_softmax` first"
    return Hit(
        f"`{history.text(call.site)}` needs log-probabilities, which are never above "
        f"0, {reason}, {_SO}.{chosen.words(history)}",
        chosen.site,
        f"Use {other}" + (f", or `{instead}`." if "nll" in call.op else "."),
        line=chosen.line,
        symptom=call.site,
        related=(Related("the loss", call.site if made else None),),
        tensors=(call.inputs[0].tensor,),
        edit=renamed(
            None if made is None or chosen.is_elsewhere else chosen.site,
            {"softmax": "log_softmax", "Softmax": "LogSoftmax"},
        ),
    )
