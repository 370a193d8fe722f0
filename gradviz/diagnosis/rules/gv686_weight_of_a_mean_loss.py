"""A loss is weighed by a function of itself after it was averaged over the samples.

What it does
    Finds a product of a mean of a classification loss with something computed from the
    same mean through an exponential: ``(1 - exp(-loss)) ** gamma * loss``, with or
    without other factors, such as a weight per class.

Why is this bad
    The weight is meant to be one per sample, large where the sample is hard. Made of
    the mean there is a single one, so that all samples count alike: the focal loss is a
    power of cross entropy, and says nothing about hard samples.

Example
    ::

        loss = F.cross_entropy(scores, target)
        loss = (1 - torch.exp(-loss)) ** 2 * loss

Use instead
    ::

        loss = F.cross_entropy(scores, target, reduction="none")
        loss = ((1 - torch.exp(-loss)) ** 2 * loss).mean()

When it stays quiet
    Where the loss has a value per sample, and where its weight is learnt or comes from
    another loss.

References
    https://arxiv.org/abs/1708.02002
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gradviz.dependence.lineage import behind
from gradviz.dependence.op_families import (
    BINARY_LOSSES,
    CLASS_LOSSES,
    MULTIPLICATIONS,
    of_op,
    plain,
)
from gradviz.diagnosis.decisions.decision import of_function
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_LOSSES = CLASS_LOSSES | BINARY_LOSSES
_LAYERS = ("CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss")
_FAR = 10  # calls between a loss and the product


@rule("GV686", "weight-of-a-mean-loss", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that weighs so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if plain(call.op) not in MULTIPLICATIONS or len(call.inputs) != 2:
            continue
        if call.site in told or all(each.shape for each in call.inputs):
            continue
        told.add(call.site)  # the same line does the same in every turn
        found = dict.fromkeys(_losses_in(history, call))
        weighed = [loss for loss, curved in found if curved and (loss, False) in found]
        if weighed:
            yield _hit(history, call, weighed[0])


def _losses_in(history: History, product: Call) -> Iterator[tuple[Call, bool]]:
    """Yield the averaged losses behind the factors of a product, and if by ``exp``."""
    waiting = [(each, product) for each in product.inputs]
    for seen, (value, use) in enumerate(waiting):
        loss = None if value.shape else _loss_behind(history, value, use)
        if loss is not None:
            yield loss
        made = history.producer(value, use.index) if seen < _FAR else None
        if made is not None and plain(made.op) in MULTIPLICATIONS:
            waiting += [(each, made) for each in made.inputs]


def _loss_behind(history: History, value: Value, use: Call) -> tuple[Call, bool] | None:
    """Return the loss over samples that a number was made of, and if by ``exp``."""
    curved = False
    for made in islice(behind(history, value, use.index), _FAR):
        given = made.inputs[0].shape if made.inputs else ()
        if given:
            averaged = plain(made.op) in _LOSSES and given[0] > 1
            return (made, curved) if averaged else None
        curved = curved or of_op(made.op) == "exp"
    return None


def _hit(history: History, call: Call, loss: Call) -> Hit:
    chosen = of_function(history, loss, _LAYERS)
    return Hit(
        f"`{history.text(loss.site)}` is the mean of {loss.inputs[0].shape[0]} samples "
        f"already, so {history.quoted(call.site)} has one weight, made of the mean: "
        "hard samples count no more than easy ones.",
        chosen.site,
        'Ask for one loss per sample, `reduction="none"`, and take the mean of the '
        "products.",
        symptom=call.site,
        line=chosen.line,
        related=(Related("weighed here", call.site),),
        certainty=0.8,
    )
