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
_LOGARITHMS = {
    "softmax": "log_softmax",
    "Softmax": "LogSoftmax",
    "sigmoid": "logsigmoid",
    "Sigmoid": "LogSigmoid",
}
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
    name = history.bare_name(call.inputs[0]) or _argument(history, call)
    return Hit(
        f"{_wrong(history, call)}, but `{name}` holds probabilities "
        f"({history.line(made.site)}). Elsewhere the program needs the probabilities.",
        call.site,
        f"Pass `{name}.clamp_min(1e-8).log()` to the loss in "
        f"{history.line(call.site)}.",
        related=(Related("probabilities computed here", made.site),),
        tensors=(call.inputs[0].tensor,),
    )


def _argument(history: History, call: Call, unknown: str = "its input") -> str:
    """Return the first argument of a loss as the program writes it."""
    where = spot(history, call.site, call.stack)
    scores = None if where is None else given(where, 0, ("input", "log_probs"))
    return unknown if scores is None else ast.unparse(scores.node)


def _wrong(history: History, call: Call) -> str:
    return (
        f"The loss and its gradients are wrong: {history.quoted(call.site)} takes "
        "log-probabilities as its first argument"
    )


def _of_scores(history: History, call: Call, reason: str) -> Hit:
    name = _argument(history, call, "scores")
    dim = "-1" if "ctc" in call.op or len(call.inputs[0].shape) < 3 else "1"
    return Hit(
        f"{_wrong(history, call)}, {reason}.",
        call.site,
        f"Pass `{name}.log_softmax({dim})` to the loss in {history.line(call.site)}.",
        tensors=(call.inputs[0].tensor,),
        edit=argument_followed_by(call.site, name, f".log_softmax({dim})"),
    )


def _instead(history: History, call: Call, made: Call | None, text: str) -> str:
    """Return how to hand log-probabilities over, as the line that makes them may."""
    name = _argument(history, call, "the probabilities")
    if made is None:
        return "Use `F.cross_entropy(logits, target)`, or apply `log_softmax` first."
    where = history.line(made.site)
    if text.endswith(".probs") and made.op == "softmax":
        return (
            f"Use `{text.removesuffix('probs')}logits` in {where}: log-probabilities."
        )
    for wrong, right in _LOGARITHMS.items():
        if wrong in text:
            return f"Use `{right}` in place of `{wrong}`."
    return (
        f"Pass `{name}.clamp_min(1e-8).log()` to the loss in {history.line(call.site)}."
    )


def _hit(history: History, call: Call, made: Call | None, highest: float | None) -> Hit:
    bare = history.bare_name(call.inputs[0]) or _argument(history, call, "")
    name = f"`{bare}`" if bare else "this argument"
    reason = (
        f"which are never above 0, but {name} has values up to {highest:.3g}"
        if made is None
        else f"but {name} holds probabilities (from {history.line(made.site)})"
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
    return Hit(
        f"{_wrong(history, call)}, {reason}.{chosen.words(history)}",
        chosen.site,
        _instead(history, call, made, chosen.text or history.text(chosen.site)),
        line=chosen.line,
        symptom=call.site,
        related=(Related("loss computed here", call.site if made else None),),
        tensors=(call.inputs[0].tensor,),
        edit=renamed(
            None if made is None or chosen.is_elsewhere else chosen.site,
            {"softmax": "log_softmax", "Softmax": "LogSoftmax"},
        ),
    )
