"""A loss takes the classes from dimension 1, and a layer made them in the last.

What it does
    Finds ``cross_entropy`` and ``nll_loss`` of what a linear layer gave, in three or
    more dimensions and as the layer gave it.

Why is this bad
    A linear layer puts its scores in the last dimension, these losses look for classes
    in the second. Where both are of one size nothing is refused: the positions compete
    with each other for the token, not the tokens for the position. The loss falls a
    little and stays there.

Example
    ::

        logits = nn.Linear(dim, vocabulary)(hidden)  # (batch, time, vocabulary)
        loss = F.cross_entropy(logits, targets)

Use instead
    ::

        loss = F.cross_entropy(logits.transpose(1, 2), targets)

When it stays quiet
    Scores that were transposed or reshaped on the way. A layer with as many inputs as
    outputs may mix positions and leave the classes where they are: then it is an
    information only.

References
    https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.flow import name_of, words
from gradviz.diagnosis._words import variable
from gradviz.diagnosis.edits.shapes import operand_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import behind
from gradviz.program import Call, History

_SAME_PLACES = words("softmax log_softmax dropout relu tanh clamp float double clone")


@rule("GV644", "classes-in-another-dimension", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per loss of a layer's scores as they are."""
    for loss in history.calls:
        if not name_of(loss).startswith(("cross_entropy", "nll_loss")):
            continue
        if loss.error or not loss.inputs or len(loss.inputs[0].shape) < 3:
            continue
        layer = _layer(history, loss)
        if layer is not None and layer.site is not None:
            yield _hit(history, loss, layer)


def _layer(history: History, loss: Call) -> Call | None:
    """Return the linear layer that the scores of a loss come from, places unchanged."""
    for call in behind(history, loss.inputs[0], loss.index):
        if name_of(call) == "linear":
            return call
        if name_of(call) not in _SAME_PLACES:
            return None
    return None


def _hit(history: History, loss: Call, layer: Call) -> Hit:
    scores = loss.inputs[0]
    name = variable(history, scores) or "logits"
    last = len(scores.shape) - 1
    mixes = layer.inputs[0].shape[-1] == scores.shape[-1]
    same = ", which has the same size" if scores.shape[1] == scores.shape[-1] else ""
    return Hit(
        f"`{name}` has shape {scores.shape}: `{history.text(layer.site)}` "
        f"({history.line(layer.site)}) made its scores along dimension {last}, and "
        f"`{loss.op}` takes the classes from dimension 1{same}. So the positions "
        "compete with each other, not the classes.",
        loss.site,
        f"Put the classes second: `{name}.transpose(1, {last})`.",
        related=(Related("scores made here", layer.site),),
        tensors=(scores.tensor,),
        edit=operand_followed_by(loss.site, 0, f".transpose(1, {last})"),
        severity="info" if mixes else None,
        certainty=0.8,
    )
