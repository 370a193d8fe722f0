"""GV506: two weights that are all 0, one after the other, never begin to learn.

What it does
    Finds weights that are 0 in every element and get a gradient of exactly 0 in every
    pass, because the result of one is multiplied with the other.
Why is this bad
    The gradient of each is a product with the other. Both are 0, so both gradients are
    0, and no step ever changes that: the branch is dead without a word.
Example
    ``self.down = nn.Parameter(torch.zeros(d, r))`` and
    ``self.up = nn.Parameter(torch.zeros(r, d))``, used as ``x @ self.down @ self.up``
Use instead
    Random values in one of them, as in LoRA: ``torch.randn(d, r) * 0.02`` in ``down``.
When it stays quiet
    One of the two is not 0, or any gradient is not 0, or there was one pass only.
References
    Hu et al., 2021, LoRA; Goodfellow et al., 2016, Deep Learning, section 8.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gradviz.dependence import learning
from gradviz.dependence.op_families import MULTIPLICATIONS, plain
from gradviz.diagnosis.decisions.decision import Decision
from gradviz.diagnosis.edits.leaves import random_start
from gradviz.diagnosis.gradient_flow import all_zero, without_gradient
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._weights import filled_at, is_product
from gradviz.program import Call, History, RawSite, Value


@rule("GV506", "zero-factors", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the first pair of weights of each line that hold each other at 0."""
    still = history.once(without_gradient)
    told: set[RawSite | None] = set()
    for first, second in _held(history, still) if len(still) > 1 else ():
        filled = filled_at(history, *first)
        if filled.site not in told:
            told |= {filled.site, filled_at(history, *second).site}
            yield _hit(history, filled, first, second)


_Use: TypeAlias = tuple[Value, Call]  # a leaf, and a call behind it


def _held(history: History, still: set[int]) -> Iterator[tuple[_Use, _Use]]:
    """Yield two such leaves where a product is 0 on both sides because of them."""
    seen = set[tuple[int, int]]()
    wanted = learning.wanted(history)
    leaves = still if wanted is None else still & wanted
    for call in history.calls:
        factors = call.inputs[:2]
        if len(factors) < 2 or not _multiplies(call) or not all(map(all_zero, factors)):
            continue
        one, two = (_zero_leaf(history, each, call.index) for each in factors)
        if one is None or two is None:
            continue
        pair = one.tensor, two.tensor
        if pair in seen:
            continue
        seen.add(pair)
        if leaves.issuperset(pair) and one.tensor != two.tensor:
            yield (one, call), (two, call)


def _multiplies(call: Call) -> bool:
    return is_product(call) or plain(call.op) in MULTIPLICATIONS


def _zero_leaf(history: History, value: Value, before: int) -> Value | None:
    """Return the leaf of zeros that makes a value 0, through what it was made of."""
    while not (value.is_leaf and value.requires_grad):
        made = history.last_producer(value, before)
        zeros = [] if made is None else [e for e in made.inputs if all_zero(e)]
        if made is None or not zeros:
            return None
        value, before = zeros[0], made.index
    return value


def _hit(
    history: History,
    filled: Decision,
    first: _Use,
    second: _Use,
) -> Hit:
    names = [_name(history, value) for value, _ in (first, second)]
    other = filled_at(history, *second)
    return Hit(
        f"Every element of {names[0]} and of {names[1]} is 0, and "
        f"{history.line(second[1].site)} multiplies the result of one with the other: "
        "the gradient of each is 0 as long as the other is. That was so in all "
        f"{len(history.backwards)} backward passes, and neither can begin to learn.",
        culprit=filled.site or first[1].site,
        fix="Initialise one of the two with random values; where the branch is to "
        "begin at 0, leave the other one 0.",
        symptom=history.backwards[-1].site,
        related=(
            Related("filled here", filled.made),
            Related("0 as well", other.site),
            Related("multiplied", second[1].site),
        ),
        tensors=(first[0].tensor, second[0].tensor),
        edit=None
        if filled.is_elsewhere
        else random_start(filled.site or first[1].site),
        line=filled.line,
        certainty=0.8,
    )


def _name(history: History, leaf: Value) -> str:
    made = learning.created_at(history, leaf.tensor)
    return history.name(leaf, f"the weight of {history.line(made)}")
