"""A product of many factors is rounded to 0, though no factor is 0.

What it does
    Finds ``prod`` and ``cumprod`` whose result has zeros where none of its factors is
    0, and which a backward pass walks.

Why is this bad
    The product of a hundred probabilities is below the least number that the type can
    hold. It becomes 0, and so does its gradient; an epsilon inside a logarithm hides
    that. The loss is a constant, and nothing learns.

Example
    ::

        joint = probabilities.prod(dim=1)
        loss = -torch.log(joint + 1e-30).mean()

Use instead
    ::

        loss = -probabilities.log().sum(dim=1).mean()

When it stays quiet
    Where a factor is 0, and where the result has no zeros.

References
    https://en.wikipedia.org/wiki/Arithmetic_underflow
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.edits.calls import operand_text
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_PRODUCTS = ("prod", "cumprod")


@rule("GV690", "product-underflows", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose product is rounded to 0."""
    told = set[RawSite | None]()
    for call in history.calls:
        if plain(call.op) in _PRODUCTS and call.site not in told and call.outputs:
            zeros = _lost(call)
            if zeros:
                told.add(call.site)
                yield _hit(history, call, zeros)


def _lost(call: Call) -> int:
    """Return how many results are 0 though no factor is, of those that learn."""
    given, made = call.inputs[0], call.outputs[0]
    factors, results = given.summary, made.summary
    if factors is None or results is None or not made.requires_grad:
        return 0
    return 0 if factors.zeros else results.zeros


def _hit(history: History, call: Call, zeros: int) -> Hit:
    made = call.outputs[0]
    count = made.summary.count if made.summary is not None else zeros
    used = next((each.site for each in history.uses(made.tensor, call.index)), None)
    x = in_code(operand_text(history, call.site, _PRODUCTS))
    return Hit(
        f"{zeros} of {count} results of `{history.text(call.site)}` are 0, though no "
        f"factor is: the product is too small for {made.dtype.removeprefix('torch.')}. "
        "Its gradient is 0 there, so nothing learns from it.",
        call.site,
        f"Add logarithms instead: `{x}.log().sum(…)`.",
        symptom=used or call.site,
        related=(Related("used here", used),),
        nodes=() if made.node is None else (made.node,),
        tensors=(made.tensor,),
        certainty=0.85,
    )
