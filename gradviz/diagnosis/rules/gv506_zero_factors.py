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

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.decision import Decision
from gradviz.diagnosis.edits.leaves import random_start
from gradviz.diagnosis.gradient_flow import magnitude, without_gradient
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._weights import filled_at, is_product
from gradviz.program import Call, History, RawSite, Value


@rule("GV506", "zero-factors", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the first pair of weights of each line that hold each other at 0."""
    still = history.once(without_gradient)
    uses = _zero_weights(history, still) if len(still) > 1 else []
    told: set[RawSite | None] = set()
    for number, (call, value) in enumerate(uses):
        behind = history.behind([call.inputs[0]], before=call.index)
        for before, other in uses[:number]:
            filled = filled_at(history, other, before)
            if other.tensor in behind and filled.site not in told:
                told |= {filled.site, filled_at(history, value, call).site}
                yield _hit(history, filled, (before, other), (call, value))
                break


def _zero_weights(history: History, still: set[int]) -> list[tuple[Call, Value]]:
    """Return the first product of each of these leaves that are all 0 there."""
    wanted = learning.wanted(history)
    found: dict[int, tuple[Call, Value]] = {}
    leaves = {
        leaf.storage: leaf
        for key, leaf in learning.last_seen(history).items()
        if key in still and (wanted is None or key in wanted)
    }
    for call in history.calls:
        if not call.inputs or not is_product(call):
            continue
        for value in call.inputs[1:]:
            leaf = leaves.get(value.storage)  # of ``x @ w.t()``, too
            if leaf and len(value.shape) > 1 and magnitude(value.summary) == 0.0:
                found.setdefault(leaf.tensor, (call, leaf))
    return list(found.values())


def _hit(
    history: History,
    filled: Decision,
    first: tuple[Call, Value],
    second: tuple[Call, Value],
) -> Hit:
    names = [history.name(value, "a weight") for _, value in (first, second)]
    other = filled_at(history, second[1], second[0])
    return Hit(
        f"{names[0]} and {names[1]} are 0 in every element, and "
        f"{history.line(second[0].site)} multiplies the result of one with the other: "
        "the gradient of each is 0 as long as the other is. That was so in all "
        f"{len(history.backwards)} backward passes, and neither can begin to learn.",
        culprit=filled.site or first[0].site,
        fix="Initialise one of the two with random values; where the branch is to "
        "begin at 0, leave the other one 0.",
        symptom=history.backwards[-1].site,
        related=(
            Related("filled here", filled.made),
            Related("0 as well", other.site),
            Related("multiplied", second[0].site),
        ),
        tensors=(first[1].tensor, second[1].tensor),
        edit=None
        if filled.is_elsewhere
        else random_start(filled.site or first[0].site),
        line=filled.line,
        certainty=0.8,
    )
