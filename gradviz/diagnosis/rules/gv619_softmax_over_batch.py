"""A softmax runs over the batch instead of the classes.

What it does
    Finds ``softmax`` or ``log_softmax`` over one dimension whose result goes into
    ``nll_loss``, or a ``gather`` of one column per row, as it is or through ``log``,
    which takes its classes from another.

Why is this bad
    The samples of a batch compete with each other, not the classes. The loss is a
    number and falls, but the model never learns to choose a class, and its output
    depends on what else is in the batch.

Example
    ::

        log_p = torch.log_softmax(net(x), dim=0)
        loss = F.nll_loss(log_p, target)

Use instead
    ::

        loss = F.cross_entropy(net(x), target)

When it stays quiet
    Where the dimension is that of the classes (the second of two or more, the only one
    of one), or is not said, and for attention, which may weigh any dimension.

References
    https://pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gradviz.dependence.flow import dimension, name_of, words
from gradviz.diagnosis._words import layer_or_call
from gradviz.diagnosis.edits.shapes import over_dimension
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import behind
from gradviz.program import Call, History

_SOFTMAX = words("softmax log_softmax")
_LAYERS = words("Softmax LogSoftmax Softmin")
_SAME_PLACES = words("log add clamp clamp_min float double clone contiguous")
_FAR = 6  # calls between the softmax and the loss


@rule("GV619", "softmax-over-batch", "warning")
def check(history: History) -> Iterator[Hit]:
    for loss in history.calls:
        classes = _classes(loss)
        made = None if classes is None else _softmax_of(history, loss)
        if classes is None or made is None or (dim := dimension(made)) is None:
            continue
        if dim % len(made.inputs[0].shape) != classes:
            yield _hit(history, made, loss, dim, classes)


def _classes(call: Call) -> int | None:
    """Return the dimension from which a call takes one class per sample, if it does."""
    rank = len(call.inputs[0].shape) if call.inputs else 0
    if name_of(call).startswith("nll_loss") and rank:
        return 1 if rank > 1 else 0
    if name_of(call) == "gather" and rank == 2 and dimension(call) in (1, -1):
        one_each = call.nodes and call.inputs[-1].shape == (call.inputs[0].shape[0], 1)
        return 1 if one_each else None
    return None


def _softmax_of(history: History, loss: Call) -> Call | None:
    for call in islice(behind(history, loss.inputs[0], loss.index), _FAR):
        if name_of(call) in _SOFTMAX:
            return call if call.inputs and call.inputs[0].shape else None
        if name_of(call) not in _SAME_PLACES:
            return None
    return None


def _hit(history: History, made: Call, loss: Call, dim: int, classes: int) -> Hit:
    shape = tuple(made.inputs[0].shape)
    return Hit(
        f"`{made.op}` runs over dimension {dim} of shape {shape}, and `{loss.op}` in "
        f"{history.line(loss.site)} takes the classes from dimension {classes}: the "
        "samples of the batch compete with each other, not the classes.",
        layer_or_call(history, made, _LAYERS),
        f"Write `dim={classes}`, or give the scores to `cross_entropy`, which does "
        "both.",
        symptom=loss.site,
        edit=over_dimension(layer_or_call(history, made, _LAYERS), classes),
        related=(
            Related("the classes are taken here", loss.site),
            Related("runs here", made.site),
        ),
    )
