"""Weights sum to 1 over the batch, and weigh something else.

What it does
    Finds ``softmax`` over dimension 0, or over any in which samples lie side by side,
    as a loader or a layer's input shows, whose result weighs a tensor that is then
    summed over another dimension, or is multiplied with it by ``bmm``, ``matmul`` or
    ``einsum``. So does ``log_softmax`` with a sum and ``logsumexp``.

Why is this bad
    That is the dimension of the samples: their weights compete with those of other
    samples, and those of one sample do not sum to 1. What the model says of a sample
    depends on what else is in the batch.

Example
    ::

        weights = torch.softmax(scores, dim=0)  # (batch, time)
        pooled = (weights.unsqueeze(-1) * frames).sum(dim=1)

Use instead
    ::

        weights = torch.softmax(scores, dim=1)

When it stays quiet
    Where that dimension is what is summed, or what is weighed has no such dimension,
    and for other dimensions: slots and clusters may well compete for what is summed.

References
    https://pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.axes import axes_in
from gradviz.dependence.axis_ops import reduced
from gradviz.dependence.axis_walk import axes_of, over
from gradviz.dependence.batches import holds_samples
from gradviz.dependence.flow import dimension, name_of, words
from gradviz.dependence.op_families import ADDITIONS, CASTS, DIVISIONS, MULTIPLICATIONS
from gradviz.dependence.products import letters
from gradviz.diagnosis.decisions.decision import of_setting
from gradviz.diagnosis.edits.shapes import over_dimension
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_SAME_PLACES = CASTS | words("dropout clone contiguous unsqueeze getitem")
_PRODUCTS = {"softmax": MULTIPLICATIONS, "log_softmax": ADDITIONS}
_SUMS = words("sum logsumexp")
_NAMES = ("dim", "axis")
_FAR = 6  # calls between the softmax and the product


@rule("GV649", "weights-over-the-batch", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per softmax that does so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if not call.outputs or not call.inputs or call.site in told:
            continue
        place = _over_samples(history, call)
        found = None if place is None else _weighed(history, call, place)
        if place is not None and found is not None:
            told.add(call.site)
            yield _hit(history, call, place, *found)


def _over_samples(history: History, call: Call) -> int | None:
    """Return the dimension of a softmax if samples lie along it, at least two."""
    given, by_hand = call.inputs[0], name_of(call) in DIVISIONS
    place = _normalised(history, call) if by_hand else None
    if name_of(call) in _PRODUCTS and len(given.shape) > 1:
        place = over(call) % len(given.shape)
    if place is None or len(given.shape) < 2 or given.shape[place] < 2:
        return None
    axes = history.once(axes_of)
    loaded = any(map(axes.of_samples, axes_in(axes.of(given)[place])))
    samples = loaded or holds_samples(history, given, place)
    return place if samples or (place == 0 and not by_hand) else None


def _normalised(history: History, call: Call) -> int | None:
    """Return the dimension along which a quotient sums to 1: ``e / e.sum(0)``."""
    if len(call.inputs) != 2 or not call.inputs[0].requires_grad:
        return None
    given, total = call.inputs
    made = history.producer(total, call.index)
    if made is None or name_of(made) != "sum" or made.inputs[0].tensor != given.tensor:
        return None
    gone = reduced(made)
    return gone[0] if gone is not None and len(gone) == 1 else None


def _weighed(history: History, made: Call, place: int) -> tuple[Call, int] | None:
    """Return the call that adds up what was weighed, and over which dimension."""
    weights, products = made.outputs[0], _PRODUCTS.get(name_of(made), MULTIPLICATIONS)
    rank = len(weights.shape)
    for _ in range(_FAR):
        following = None
        for use in history.uses(weights.tensor):
            name = name_of(use)
            if (spelt := letters(use)) is not None and use.outputs:
                dim = _contracted(use, *spelt, weights, place)
                return None if dim is None else (use, dim)
            others = [each for each in use.inputs if each.tensor != weights.tensor]
            if name in products and others and use.outputs:
                return _summed(history, weights, others[0], use.outputs[0], place)
            if name in _SAME_PLACES and use.outputs:
                following = use.outputs[0]
        if following is None or len(following.shape) < rank:
            return None
        if following.shape[place] != weights.shape[place]:
            return None
        weights = following
    return None


def _contracted(
    product: Call, operands: list[str], made: str, weights: Value, place: int
) -> int | None:
    """Return the dimension of weights that a product adds up, if it keeps theirs."""
    own = [each.tensor == weights.tensor for each in product.inputs[-len(operands) :]]
    if sum(own) != 1:
        return None
    mine = operands[own.index(True)]
    others = "".join(
        each for each, is_own in zip(operands, own, strict=True) if not is_own
    )
    if mine[place] not in made or mine[place] not in others:
        return None
    sizes = zip(mine, weights.shape, strict=True)
    summed = [i for i, (e, n) in enumerate(sizes) if e not in made and n > 1]
    return summed[0] if summed else None


def _summed(
    history: History, weights: Value, other: Value, product: Value, place: int
) -> tuple[Call, int] | None:
    rank = len(product.shape)
    if not len(weights.shape) == len(other.shape) == rank:
        return None
    if other.shape[place] != weights.shape[place]:
        return None
    for use in history.uses(product.tensor):
        dim = dimension(use, *_NAMES)
        if name_of(use) in _SUMS and dim is not None:
            summed = dim % rank
            apart = summed != place and weights.shape[summed] > 1
            return (use, summed) if apart else None
    return None


def _hit(history: History, made: Call, place: int, summed: Call, dim: int) -> Hit:
    given = made.inputs[0].shape
    right = dim if dim < len(given) else len(given) - 1
    chosen = of_setting(history, made, ("Softmax", "LogSoftmax"), 0, ("dim",))
    by_hand = name_of(made) in DIVISIONS
    what = "The weights are normalised" if by_hand else "The softmax runs"
    return Hit(
        f"{what} over the batch: dimension {place} of {given} holds the samples, while "
        f"the weighted sum in {history.line(summed.site)} runs over dimension {dim}. "
        "So the weights of one sample do not sum to 1.",
        chosen.site,
        f"Write `dim={right}` in {history.line(chosen.site)}, the dimension of the "
        "weighted sum."
        if chosen.line is None
        else f"Write `dim={right}`, the dimension of the weighted sum.",
        symptom=summed.site,
        edit=None
        if chosen.is_elsewhere or by_hand
        else over_dimension(chosen.site, right),
        line=chosen.line,
        related=(Related("weighted sum here", summed.site),),
        certainty=0.7,
    )
