"""A loss that applies softmax itself is given the result of a softmax.

What it does
    Finds ``cross_entropy`` and ``log_softmax`` of the result of ``softmax``, and
    ``binary_cross_entropy_with_logits`` of the result of ``sigmoid``, along the same
    dimension, with only views in between; and of an average of what ``softmax`` gave.

Why is this bad
    Probabilities lie between 0 and 1, so the second softmax is nearly flat: the loss
    cannot come near zero, and its gradients are small.

Example
    ::

        probabilities = torch.softmax(net(x), dim=1)
        loss = F.cross_entropy(probabilities, target)

Use instead
    ::

        loss = F.cross_entropy(net(x), target)

When it stays quiet
    Softmax in attention, for targets, beside the loss, or along another dimension;
    ``log_softmax`` before ``cross_entropy``, which changes nothing.

References
    https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import e, log

from gradviz.dependence.flow import dimension, name_of, words
from gradviz.dependence.lineage import made_through
from gradviz.dependence.op_families import MOVES
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.decisions.decision import of_function
from gradviz.diagnosis.edits.calls import unwrapped
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History

_SECOND = {
    "cross_entropy": "softmax",
    "cross_entropy_loss": "softmax",
    "log_softmax": "softmax",
    "binary_cross_entropy_with_logits": "sigmoid",
}
_LINEAR = words("mean sum stack cat add radd div mul rmul")
_FAR = 6  # calls between a softmax and an average of several
_VIEWS = MOVES | {"getitem"}
_THROUGH = _LINEAR | _VIEWS
_LAYERS = words("Softmax Softmax2d Sigmoid")
_FIRST = ("softmax", "sigmoid", *_LAYERS)


@rule("GV604", "double-softmax", "warning")
def check(history: History) -> Iterator[Hit]:
    for call in history.calls:
        first = _SECOND.get(name_of(call))
        if first is None or not call.inputs:
            continue
        maker = made_through(history, call.inputs[0], call.index, _VIEWS)
        if maker is not None and first == "softmax" and name_of(maker) in _LINEAR:
            averaged = _averaged(history, maker)
            if averaged is not None:
                yield _of_average(history, averaged, maker, call)
        if maker is not None and name_of(maker) == first:
            viewed = maker is not history.producer(call.inputs[0], call.index)
            if viewed or _same_dimension(maker, call):
                yield _hit(history, maker, call)


def _averaged(history: History, call: Call, most: int = _FAR) -> Call | None:
    """Return the first of the softmaxes that a result is an average of, and no more."""
    if name_of(call) == "softmax":
        return call
    if most == 0 or name_of(call) not in _THROUGH:
        return None
    makers = [history.producer(each, call.index) for each in call.inputs]
    found = [made and _averaged(history, made, most - 1) for made in makers]
    return found[0] if found and all(found) else None


def _of_average(history: History, first: Call, average: Call, second: Call) -> Hit:
    chosen = of_function(history, second, ("CrossEntropyLoss",))
    name = history.name(second.inputs[0], "the average")
    return Hit(
        f"{name} (made in {history.line(average.site)}) is an average of probabilities "
        f"that softmax gave in {history.line(first.site)}, and `{second.op}` applies "
        f"softmax itself: {_limit(second)}.{chosen.words(history)}",
        chosen.site,
        f"Take the log of the average, `F.nll_loss({in_code(name.strip('`'))}.log(), "
        "…)`, or average the scores before the softmax.",
        line=chosen.line,
        symptom=second.site,
        related=(
            Related("softmax here", first.site),
            Related("averaged here", average.site),
            Related("applied a second time", second.site),
        ),
    )


def _same_dimension(first: Call, second: Call) -> bool:
    if name_of(first) == "sigmoid":
        return True
    rank = len(first.inputs[0].shape)
    own = _dimension(first, rank)
    if name_of(second) == "log_softmax":
        return own is None or own == _dimension(second, rank)
    return own in (None, 1 if rank > 1 else 0)


def _dimension(call: Call, rank: int) -> int | None:
    given = dimension(call)
    return given % rank if given is not None and rank else None


def _hit(history: History, first: Call, second: Call) -> Hit:
    twice, chosen = name_of(first), of_function(history, first, _LAYERS)
    its = "sigmoid" if name_of(second).startswith("binary") else "softmax"
    return Hit(
        f"{history.name(second.inputs[0], 'The input')} of `{second.op}` in "
        f"{history.line(second.site)} is already the result of a {twice}, and "
        f"`{second.op}` applies {its} itself: {_limit(first)}."
        f"{chosen.words(history)}",
        chosen.site,
        f"Remove the {twice} and give the loss the scores themselves (logits).",
        line=chosen.line,
        symptom=second.site,
        edit=None if chosen.is_elsewhere else unwrapped(chosen.site, _FIRST),
        related=(
            Related("applied a second time", second.site),
            Related("runs here", first.site),
        ),
    )


def _limit(first: Call) -> str:
    if name_of(first) == "sigmoid":
        return "the loss cannot fall below 0.31 for a positive label"
    shape = first.inputs[0].shape
    classes = shape[1] if len(shape) > 1 else (*shape, 2)[0]
    least = log(1 + (classes - 1) / e)
    return f"with {classes} classes the loss cannot fall below {least:.2f}"
