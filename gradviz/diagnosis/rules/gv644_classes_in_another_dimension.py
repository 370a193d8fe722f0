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

from gradviz.dependence.flow import words
from gradviz.dependence.lineage import made_through
from gradviz.dependence.op_families import CASTS, CLASS_LOSSES, plain
from gradviz.diagnosis._words import variable
from gradviz.diagnosis.edits.shapes import operand_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History

_SAME_PLACES = CASTS | words(
    "softmax log_softmax dropout relu tanh clamp clone contiguous"
)


@rule("GV644", "classes-in-another-dimension", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per loss of a layer's scores as they are."""
    for loss in history.calls:
        if plain(loss.op) not in CLASS_LOSSES:
            continue
        if loss.error or not loss.inputs or len(loss.inputs[0].shape) < 3:
            continue
        layer = made_through(history, loss.inputs[0], loss.index, _SAME_PLACES)
        if layer is not None and layer.op == "linear" and layer.site is not None:
            yield _hit(history, loss, layer)


def _hit(history: History, loss: Call, layer: Call) -> Hit:
    scores = loss.inputs[0]
    name = variable(history, scores) or "logits"
    last = len(scores.shape) - 1
    mixes = layer.inputs[0].shape[-1] == scores.shape[-1]
    same = ", which has the same size" if scores.shape[1] == scores.shape[-1] else ""
    target = loss.inputs[1] if len(loss.inputs) > 1 else None
    both = target is not None and target.shape == scores.shape
    return Hit(
        f"`{loss.op}` compares the positions with each other instead of the classes: "
        f"it takes the classes from dimension 1{same}. `{name}` has shape "
        f"{scores.shape}, with the classes of {history.quoted(layer.site)} in "
        f"dimension {last}.",
        loss.site,
        f"Put the classes second: `{name}.transpose(1, {last})`"
        + (", and the same for the target." if both else "."),
        related=(Related("scores made here", layer.site),),
        tensors=(scores.tensor,),
        edit=None
        if both
        else operand_followed_by(loss.site, 0, f".transpose(1, {last})"),
        severity="info" if mixes else None,
        certainty=0.8,
    )
