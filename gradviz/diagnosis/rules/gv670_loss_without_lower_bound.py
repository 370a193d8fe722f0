"""A loss is never above some number and has no least value: training runs away.

What it does
    Finds roots of backward passes that cannot be above a number, can fall without end,
    and are minimised by the optimizer: ``-F.mse_loss(…)``, the mean of log
    probabilities without the minus, ``F.nll_loss(-log_p, y)``. Finds terms of a loss
    that count negatively, may grow without end, grew, and took the loss below 0, and
    losses that did so because they grow by a power of what the last layers give, as a
    difference of distances without a margin.

Why is this bad
    An optimizer makes the loss small. What is meant to be made large has to be negated,
    once: otherwise each step makes the model worse, and never stops to.

Example
    ::

        log_p = F.log_softmax(model(x), dim=1)
        loss = log_p[torch.arange(len(y)), y].mean()

Use instead
    ::

        log_p = F.log_softmax(model(x), dim=1)
        loss = -log_p[torch.arange(len(y)), y].mean()

When it stays quiet
    An optimizer that maximises; a term that others grow with, as in the likelihood of a
    Gaussian process; losses of one side of a game, whose other side other
    passes train; log probabilities of what was drawn from the model, which may be
    weighted by a cost; losses that are not bounded above either, unless they grow by a
    power of what the last layers give; weights that are clamped in each step; losses
    that came to rest in a long run.

References
    https://pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import inf, prod

from gradviz.dependence import learning
from gradviz.dependence.cuts import blamed
from gradviz.dependence.degrees import degree
from gradviz.dependence.flow import Flow, words
from gradviz.dependence.lineage import made_through
from gradviz.dependence.ranges import Range, Ranges
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import applied, is_failed
from gradviz.diagnosis.rules._terms import accounts
from gradviz.program import Backward, Call, History, RawSite, Value

_AVERAGES = words("mean sum div truediv mul")
_LEAST = 2  # passes of one line
_HELD = 0.3  # of what a term takes from the loss: at its least, a square gives half
_LONG = 10  # passes in a third of a run
_RESTING = 0.25  # of how far a loss fell before, at most
_GROWN = 4.0  # times as large as at first: the optimizer pulls at it


@rule("GV670", "loss-without-lower-bound", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose root is bounded on the wrong side."""
    turns: dict[RawSite | None, int] = {}
    for account in accounts(history):
        each = account.backward
        if not _minimises(history, each) or turns.get(each.site) == _LEAST:
            continue
        if _has_settled(history, each):
            continue
        falls = [root for root in each.roots if _falls(history, each, root)]
        turns[each.site] = turns.get(each.site, 0) + 1 if falls else 0
        if turns[each.site] == _LEAST:
            yield _hit(history, each, falls[0])
    for first, last in _ends(history):
        weights = applied(history).get(last.backward.index, set())
        if turns.get(last.backward.site) or _is_held_small(history, weights):
            continue
        if _has_settled(history, last.backward):
            continue
        if _minimises(history, last.backward):
            growing = list(_growing(history, last.backward))
            yield from growing or _pulling(history, first, last)


def _growing(history: History, backward: Backward) -> Iterator[Hit]:
    """Yield a root that fell far below 0, and falls further with what layers give.

    As a difference of distances does, which nothing stops at a margin.
    """
    losses = _losses(history, backward)
    begun, least = (losses[0], min(losses)) if losses else (0.0, 0.0)
    weights = applied(history).get(backward.index, set())
    if least >= -_GROWN * max(abs(begun), 1.0):
        return
    root = backward.roots[0]
    if degree(history, root, backward.index, weights) > 0:
        yield _growing_hit(history, backward, root, begun, least)


def _has_settled(history: History, backward: Backward) -> bool:
    """Tell whether a loss of a long run came to rest: it has a least value after all.

    As a share of what can be explained, which is negated to make it large.
    """
    losses = _losses(history, backward)
    part = len(losses) // 3
    if part < _LONG:
        return False
    begun, middle, ended = (
        sum(some) / len(some)
        for some in (losses[:part], losses[part:-part], losses[-part:])
    )
    return middle - ended < _RESTING * (begun - middle)


def _losses(history: History, backward: Backward) -> list[float]:
    """Return the losses of a line's passes, as far as they are known, in order."""
    same = (each for each in history.backwards if each.site == backward.site)
    return [n for each in same if (n := _root(each)) is not None]


def _root(backward: Backward) -> float | None:
    found = [root.summary for root in backward.roots]
    return found[0].minimum if len(found) == 1 and found[0] is not None else None


def _is_held_small(history: History, weights: set[int]) -> bool:
    """Tell whether anything but an optimizer writes to weights in training."""
    seen = learning.last_seen(history)
    begun = history.backwards[0].index
    return any(
        call.op != "step"
        for each in weights
        if each in seen
        for call, _ in history.writes(seen[each].storage, after=begun)
    )


def _growing_hit(
    history: History, backward: Backward, root: Value, begun: float, least: float
) -> Hit:
    made = made_through(history, root, backward.index, _AVERAGES)
    site = backward.site if made is None else made.site
    return Hit(
        f"The loss of {history.line(site)} has no least value: it fell from "
        f"{begun:.3g} to {least:.3g}. It falls as long as what the model gives grows, "
        "so that is all that training does in the end.",
        site,
        "Stop it where enough is reached: `torch.relu(near - far + margin)` of a "
        "difference of distances.",
        symptom=backward.site,
        related=(Related("minimised here", backward.site),),
        tensors=(root.tensor,),
        certainty=0.7,
    )


def _ends(history: History) -> list[tuple[Account, Account]]:
    """Return the accounts of the first and the last pass of each line."""
    lines: dict[RawSite | None, list[Account]] = defaultdict(list)
    for account in accounts(history):
        lines[account.backward.site].append(account)
    return [(found[0], found[-1]) for found in lines.values() if len(found) > 1]


def _pulling(history: History, first: Account, last: Account) -> Iterator[Hit]:
    """Yield the term that took a loss below 0 and can take it further without end."""
    begun, ended = _root(first.backward), _root(last.backward)
    if begun is None or ended is None or ended >= min(0.0, begun):
        return
    before = {term.line: _size(term) for term in first.lines()}
    grown = [
        (_size(term) / max(was, 1e-30), index)
        for index, term in enumerate(last.lines())
        if (was := before.get(term.line)) is not None and _pulls(history, last, term)
    ]
    most, index = max(grown, default=(0.0, 0))
    if most > _GROWN and not _is_held(first, last, index):
        yield _term_hit(history, last, last.lines()[index], begun, ended)


def _is_held(first: Account, last: Account, index: int) -> bool:
    """Tell whether other terms rose with one that fell, and make up for it.

    As ``y² / noise`` does for ``-c² / noise`` in the likelihood of a Gaussian process:
    each has no end, their sum has.
    """
    before = {term.line: _added(term) for term in first.lines()}
    changes = [_added(each) - before.get(each.line, 0.0) for each in last.lines()]
    risen = sum(max(each, 0.0) for each in changes)
    return risen > -changes[index] * _HELD


def _added(term: Term) -> float:
    """Return what a term of one number adds to the loss; 0 where it is not known."""
    found = None if term.value is None else term.value.summary
    if found is None or found.count != 1 or found.minimum is None or not term.weight:
        return 0.0
    return term.weight * found.minimum


def _size(term: Term) -> float:
    found = None if term.value is None else term.value.summary
    return 0.0 if found is None or found.norm is None else found.norm


def _pulls(history: History, account: Account, term: Term) -> bool:
    """Tell whether what a term adds has no least value and a greatest one."""
    if term.value is None or not term.has_graph or not term.weight:
        return False
    found = history.once(Ranges).of(term.value, account.backward.index)
    adds = found.times(Range(term.weight, term.weight))
    return adds.low == -inf and adds.high < inf


def _minimises(history: History, backward: Backward) -> bool:
    """Tell whether a pass trains all the parameters that any pass of the run trains."""
    if is_failed(backward) or backward.api == "grad":
        return False
    optimizers = history.program.optimizers.values()
    if any(each.maximizes for each in optimizers):
        return False
    mine = applied(history).get(backward.index, set())
    whole = learning.managed(history)
    known = all(learning.is_parameter(history, each) for each in mine)
    return bool(mine) and known and mine <= whole and mine == _changed(history)


@learning.once
def _changed(history: History) -> set[int]:
    """Return the leaves that steps of the run changed with any gradient."""
    return {leaf for found in applied(history).values() for leaf in found}


def _falls(history: History, backward: Backward, root: Value) -> bool:
    found = history.once(Ranges).of(root, backward.index)
    return (
        found.low == -inf
        and found.high < inf
        and not _is_of_a_draw(history, backward, root)
    )


def _is_of_a_draw(history: History, backward: Backward, root: Value) -> bool:
    """Tell whether what a model drew or chose is scored, perhaps by a cost."""
    return any(
        blamed(history, each)[0] in ("sample", "index")
        for each in history.once(Flow).crossings(root, backward.index)
    )


def _hit(history: History, backward: Backward, root: Value) -> Hit:
    made = _made(history, backward, root)
    site = backward.site if made is None else made.site
    high = history.once(Ranges).of(root, backward.index).high
    name = history.name(root, "The loss")
    return Hit(
        f"{name} of {history.line(site)} is never above {high:.3g}, whatever the model "
        "gives, and has no least value: the optimizer makes it fall without end, which "
        "makes the model worse in each step.",
        site,
        "Turn its sign round.",
        symptom=backward.site,
        related=(Related("minimised here", backward.site),),
        tensors=(root.tensor,),
        certainty=0.8,
    )


def _term_hit(
    history: History, account: Account, term: Term, begun: float, ended: float
) -> Hit:
    backward = account.backward
    return Hit(
        f"The loss fell below 0, from {begun:.3g} to {ended:.3g}, because of its "
        f"term {account.name(term)}: it counts negatively and may grow without end, so "
        "the optimizer makes it large instead of small.",
        term.site,
        "Turn the sign of this term round.",
        symptom=backward.site,
        related=(Related("minimised here", backward.site),),
        tensors=() if term.value is None else (term.value.tensor,),
        certainty=0.6,
    )


def _made(history: History, backward: Backward, root: Value) -> Call | None:
    """Return what made the loss one number, behind what only scales it."""
    ranges, before, found = history.once(Ranges), backward.index, None
    while (made := history.last_producer(root, before)) is not None:
        found = made
        falls = [
            each
            for each in made.inputs
            if prod(each.shape) == 1
            and each.requires_grad
            and ranges.of(each, made.index).high < inf
        ]
        if not falls:
            break
        root, before = falls[0], made.index
    return found
