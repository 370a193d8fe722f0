"""A loss compares a tensor with itself: it is 0, and so is its gradient.

What it does
    Finds loss functions whose prediction and target are the same memory, seen alike:
    the same tensor under two names, a view, or the result of ``detach()``. Finds
    differences on the way to a loss whose derivatives cancel each other: ``w - w0``
    where both are one parameter, ``x + (q - x).detach() - x``.

Why is this bad
    What is written into the target is written into the prediction. The loss is 0
    whatever the model says, its gradient is 0, and nothing is learnt, without a word.

Example
    ::

        target = q
        target[0, action] = reward
        loss = F.mse_loss(q, target)

Use instead
    ::

        target = q.detach().clone()
        target[0, action] = reward
        loss = F.mse_loss(q, target)

When it stays quiet
    Where the operands are equal but have memory of their own, where nothing requires
    grad, and for ``x - x.detach()``, which is how straight-through estimators are
    written. A difference that no pass walks, or that is met once.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.flow import name_of as name_of_op
from gradviz.dependence.terms import cancels
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import aliased_at
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.diagnosis.rules._terms import walked
from gradviz.program import Call, History, RawSite, Value

_LOSSES = frozenset(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
_DIFFERENCES = _LOSSES | {"sub", "rsub", "isub", "subtract"}


@rule("GV660", "loss-of-itself", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose loss is 0 by construction."""
    told: set[RawSite | None] = set()
    yield from _cancelled(history)
    for call in history.calls:
        if call.op not in _LOSSES or len(call.inputs) < 2 or call.site in told:
            continue
        one, other = call.inputs[:2]
        learns = call.grad_enabled and (one.requires_grad or other.requires_grad)
        if learns and _same(one, other):
            told.add(call.site)
            yield _hit(history, call, one, other)


def _cancelled(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose difference has no derivative at all."""
    met: dict[RawSite | None, bool] = {}
    for call in history.calls:
        if name_of_op(call) not in _DIFFERENCES or len(call.inputs) < 2:
            continue
        if met.get(call.site, True) is False or _same_loss(call):
            continue
        again, met[call.site] = call.site in met, cancels(history, call)
        if again and met[call.site] and not walked(history).isdisjoint(call.nodes):
            met[call.site] = False
            yield _difference(history, call)


def _same_loss(call: Call) -> bool:
    return call.op in _LOSSES and _same(*call.inputs[:2])


def _difference(history: History, call: Call) -> Hit:
    one, other = call.inputs[:2]
    alias = aliased_at(history, call.site) if one.tensor == other.tensor else None
    name = name_of(history, one, "one tensor")
    what = f"both sides are {name}, the same tensor"
    if one.tensor != other.tensor:
        what = "the derivatives of both sides are equal"
    fix = (
        "Keep a copy with memory of its own: `[p.detach().clone() for p in …]`."
        if one.tensor == other.tensor
        else "Compare with the tensor from before the straight-through estimator, and "
        "detach the side that is to stay."
    )
    return Hit(
        f"In `{history.text(call.site)}` ({history.line(call.site)}) {what}: the "
        "difference moves nothing, in any pass, and what is computed from it is a "
        "constant to the gradient.",
        call.site,
        fix,
        line=alias,
        symptom=call.site,
        related=() if alias is None else (Related("subtracted here", call.site),),
        nodes=call.nodes,
        tensors=(one.tensor, other.tensor),
        severity="warning",
        certainty=0.9,
    )


def _same(one: Value, other: Value) -> bool:
    places = [(v.storage, v.offset, v.shape, v.strides) for v in (one, other)]
    return one.storage != 0 and places[0] == places[1]  # with memory, and the same


def _hit(history: History, call: Call, one: Value, other: Value) -> Hit:
    made = [history.producer(value, before=call.index) for value in (one, other)]
    known = [each.index for each in made if each is not None]
    written = history.writes(one.storage, max(known, default=-1), call.index)
    alias = None if one.tensor == other.tensor else made[1]
    write = written[-1][0] if written else None
    culprit = write or alias or call
    name = name_of(history, one, "its first operand")
    wrote = ""
    if write is not None:
        wrote = f" {history.line(write.site).capitalize()} wrote both."
    return Hit(
        f"`{call.op}` in {history.line(call.site)} compares {name} with itself: "
        f"prediction and target are one memory.{wrote} The loss is 0 and so is its "
        "gradient, whatever the model computes.",
        culprit.site,
        "Write into a copy of its own: `target = prediction.detach().clone()`.",
        symptom=call.site,
        related=(
            *(() if alias is None else (Related("made an alias here", alias.site),)),
            Related("compared here", call.site),
        ),
        tensors=(one.tensor, other.tensor),
    )
