"""A loss compares a tensor with itself: it is 0, and so is its gradient.

What it does
    Finds loss functions whose prediction and target are the same memory, seen alike:
    the same tensor under two names, a view, or the result of ``detach()``, and
    differences with a tensor that was kept so and moves with the other side. Finds
    differences on the way to a loss whose derivatives cancel each other: ``w - w0``
    where both are one parameter, ``x + (q - x).detach() - x``, or one result that was
    computed twice.

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

from gradviz.dependence.alike import alike
from gradviz.dependence.nesting import next_pass
from gradviz.dependence.op_families import DIFFERENCES, DISTANCES, plain
from gradviz.dependence.terms import cancels
from gradviz.diagnosis._memory import is_same
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import aliased_at
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.diagnosis.rules._terms import walked
from gradviz.program import Call, History, RawSite, Value

_COMPARISONS = DISTANCES | DIFFERENCES


@rule("GV660", "loss-of-itself", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose loss is 0 by construction."""
    told: set[RawSite | None] = set()
    yield from _cancelled(history)
    yield from _with_themselves(history)
    yield from _with_what_is_now(history)
    for call in history.calls:
        if call.op not in DISTANCES or len(call.inputs) < 2 or call.site in told:
            continue
        one, other = call.inputs[:2]
        learns = call.grad_enabled and (one.requires_grad or other.requires_grad)
        if learns and is_same(one, other):
            told.add(call.site)
            yield _hit(history, call, one, other)


def _cancelled(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose difference has no derivative at all."""
    met: dict[RawSite | None, bool] = {}
    for call in _comparisons(history):
        told = call.op in DISTANCES and is_same(*call.inputs[:2])
        if met.get(call.site, True) is False or told:
            continue
        again, met[call.site] = call.site in met, cancels(history, call)
        if again and met[call.site] and not walked(history).isdisjoint(call.nodes):
            met[call.site] = False
            yield _difference(history, call)


def _with_themselves(history: History) -> Iterator[Hit]:
    """Yield one hit per line that kept a tensor which differences then move with."""
    told = set[RawSite | None]()
    for call in _comparisons(history):
        kept = _kept_alias(history, call)
        if kept is None or kept.site in told:
            continue
        if not walked(history).isdisjoint(call.nodes):
            told.add(kept.site)
            yield _kept(history, call, kept)


def _with_what_is_now(history: History) -> Iterator[Hit]:
    """Yield one hit per line that compares with the same, computed anew as a constant.

    What is to be from before is from now. Second derivatives may want just that.
    """
    if any(each.create_graph for each in history.backwards):
        return
    full = {each.index for each in history.known_in_full}
    found: dict[RawSite | None, list[Call]] = {}
    apart = set[RawSite | None]()
    for call in _comparisons(history):
        if call.site in apart or walked(history).isdisjoint(call.nodes):
            continue
        later = next_pass(history, call.index)
        if later is None or later.index not in full:
            continue  # calls without a graph may be missing
        if _is_of_now(history, call):
            found.setdefault(call.site, []).append(call)
        else:
            apart.add(call.site)
    for site, calls in found.items():
        if len(calls) > 1 and site not in apart:
            yield _of_now(history, calls[0])


def _comparisons(history: History) -> Iterator[Call]:
    """Yield the differences of two tensors, and the losses that are made of one."""
    for call in history.calls:
        if plain(call.op) in _COMPARISONS and len(call.inputs) > 1:
            yield call


def _sides(call: Call) -> tuple[Value, Value] | None:
    """Return the operand that learns and the other, where one of them alone does."""
    one, other = call.inputs[:2]
    if one.requires_grad == other.requires_grad:
        return None
    return (one, other) if one.requires_grad else (other, one)


def _is_of_now(history: History, call: Call) -> bool:
    """Tell whether the constant side of a difference was computed like the other."""
    sides, end = _sides(call), call.index
    if sides is None:
        return False
    moving, fixed = sides
    while (made := history.producer(fixed, end)) is not None and made.op == "detach":
        fixed, end = made.inputs[0], made.index
    return fixed.tensor != moving.tensor and alike(history, moving, fixed, call.index)


def _of_now(history: History, call: Call) -> Hit:
    moving, fixed = _sides(call) or call.inputs[:2]
    made = history.producer(fixed, before=call.index)
    code = None if call.site is None else call.site[0]
    sites = () if made is None else made.frames
    site = next((each for each in sites if each[0] is code), call.site)
    return Hit(
        f"{history.quoted(site)} computes what {history.quoted(call.site)} compares "
        "with in the same way, from the same values and parameters: the difference is "
        "always 0, as nothing is kept from before.",
        site,
        "Keep it from before the parameters changed, detached, and compare with that.",
        symptom=call.site,
        related=(Related("compared here", call.site),),
        nodes=call.nodes,
        tensors=(moving.tensor, fixed.tensor),
        severity="warning",
        certainty=0.8,
    )


def _kept_alias(history: History, call: Call) -> Call | None:
    """Return the call that put a tensor aside to which a difference compares itself.

    It has the memory of the other side, and that was written since: the two are always
    equal. In one expression, ``x - x.detach()`` lets a gradient alone pass.
    """
    sides = _sides(call)
    if sides is None or not is_same(*sides):
        return None
    alias = history.producer(sides[1], before=call.index)
    if alias is None or not history.writes(sides[1].storage, alias.index, call.index):
        return None
    return alias


def _kept(history: History, call: Call, alias: Call) -> Hit:
    moving, fixed = _sides(call) or call.inputs[:2]
    name = name_of(history, moving, "the tensor")
    return Hit(
        f"{history.quoted(call.site)} subtracts {name} from itself: what "
        f"{history.quoted(alias.site)} kept is no copy, it has the same memory and "
        "changes with it. The difference is 0.",
        alias.site,
        f"Keep a copy: `{in_code(history.text(alias.site))}.clone()`.",
        symptom=call.site,
        related=(Related("subtracted here", call.site),),
        nodes=call.nodes,
        tensors=(moving.tensor, fixed.tensor),
        certainty=0.95,
    )


def _difference(history: History, call: Call) -> Hit:
    one, other = call.inputs[:2]
    apart = one.tensor != other.tensor
    alias = None if apart else aliased_at(history, call.site)
    first, again = _computed_twice(history, call) if apart else (None, None)
    if not apart:
        name = name_of(history, one, "one tensor")
        what = f"both sides are {name}, the same tensor"
        fix = "Keep a copy with memory of its own: `.detach().clone()` of each tensor."
    elif again is not None:
        what = (
            f"both sides are computed in the same way from the same values, the second "
            f"time in {history.line(again)}"
        )
        fix = (
            "Use what was computed before the parameters changed, not the same once "
            "more. Where second derivatives are wanted, detach the side that stays."
        )
    else:
        what = "the derivatives of both sides are equal"
        fix = (
            "Compare with the tensor from before the straight-through estimator, and "
            "detach the side that is to stay."
        )
    return Hit(
        f"In {history.quoted(call.site)} {what}: the difference moves nothing, in any "
        "pass, and what is computed from it is a constant to the gradient.",
        again or call.site,
        fix,
        line=alias,
        symptom=call.site,
        related=()
        if alias is None and again is None
        else (
            Related("subtracted here", call.site),
            Related("computed first", first),
        ),
        nodes=call.nodes,
        tensors=(one.tensor, other.tensor),
        severity="warning",
        certainty=0.9,
    )


def _computed_twice(
    history: History, call: Call
) -> tuple[RawSite | None, RawSite | None]:
    """Return the lines that computed two operands in the same way, in order."""
    one, other = call.inputs[:2]
    if not alike(history, one, other, call.index):
        return None, None
    made = [history.producer(each, before=call.index) for each in (one, other)]
    known = sorted(filter(None, made), key=lambda each: each.index)
    code = None if call.site is None else call.site[0]
    sites = [
        next((each for each in one.frames if each[0] is code), None) for one in known
    ]
    return (sites[0], sites[1]) if len(sites) > 1 else (None, None)


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
        wrote = f" {history.line(write.site)} wrote both."
    return Hit(
        f"`{call.op}` in {history.line(call.site)} compares {name} with itself: "
        f"prediction and target are one memory.{wrote} The loss is 0 and so is its "
        "gradient, whatever the model computes.",
        culprit.site,
        "Make the target a copy with memory of its own: "
        f"`{in_code(name.strip('`'))}.detach().clone()`.",
        symptom=call.site,
        related=(
            Related("made an alias here", alias.site if alias else None),
            Related("compared here", call.site),
        ),
        tensors=(one.tensor, other.tensor),
    )
