"""A product of many factors is rounded to 0, though no factor is 0.

What it does
    Finds ``prod`` and ``cumprod`` whose result has zeros where none of its factors is
    0, and multiplications of many factors one after the other, none of them 0, after
    which most of the result is; where a logarithm is taken of the product.

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
    Where a factor is 0, and where the result has no zeros. A few multiplications, and
    those that lose some elements alone. Products of which no logarithm is taken: light
    that is used up along a ray, and other weights, may be next to nothing.

References
    https://en.wikipedia.org/wiki/Arithmetic_underflow
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.lineage import ahead
from gradviz.dependence.op_families import (
    ADDITIONS,
    MOVES,
    MULTIPLICATIONS,
    PICKS,
    plain,
    words,
)
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.edits.calls import operand_text
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_PRODUCTS = ("prod", "cumprod")
_MANY = 8  # factors one after the other
_LOGARITHMS = words("log log2 log10 log1p")
_SUMS = words("clamp clamp_min clip maximum sum mean matmul mm mv dot bmm einsum")
_KEEPING = MOVES | PICKS | ADDITIONS | _SUMS


@rule("GV690", "product-underflows", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose product is rounded to 0."""
    told = set[RawSite | None]()
    factors: dict[int, int] = {}  # of tensors that are products, how many; none is 0
    for call in history.calls:
        if plain(call.op) in _PRODUCTS and call.outputs:
            zeros, count = _lost(call), 0
        else:
            zeros, count = _multiplied(call, factors)
        if zeros and call.site not in told:
            told.add(call.site)  # the same line does the same in every turn
            used = _logarithm(history, call)
            if used is not None:
                yield _hit(history, call, zeros, count, used)


def _lost(call: Call) -> int:
    """Return how many results are 0 though no factor is, of those that learn."""
    given, made = call.inputs[0], call.outputs[0]
    factors, results = given.summary, made.summary
    if factors is None or results is None or not made.requires_grad:
        return 0
    return 0 if factors.zeros else results.zeros


def _multiplied(call: Call, factors: dict[int, int]) -> tuple[int, int]:
    """Return how many results of a long product are 0, and of how many factors it is.

    Keeps count of the factors, as long as none is 0.
    """
    counts = [factors.get(each.tensor) or _is_no_zero(each) for each in call.inputs]
    for each in call.writes:
        factors.pop(each.value.tensor, None)
    if plain(call.op) not in MULTIPLICATIONS or not call.outputs:
        return 0, 0
    if not all(counts) or any(each == 0 for each in call.arguments):
        return 0, 0
    made, count = call.outputs[0], sum(counts)
    factors[made.tensor] = count
    found = made.summary if made.requires_grad and count >= _MANY else None
    lost = found is not None and found.zeros * 2 > found.count
    return (found.zeros, count) if found is not None and lost else (0, 0)


def _is_no_zero(value: Value) -> bool:
    return value.summary is not None and not value.summary.zeros


def _hit(history: History, call: Call, zeros: int, factors: int, used: RawSite) -> Hit:
    made = call.outputs[0]
    count = made.summary.count if made.summary is not None else zeros
    x = in_code(operand_text(history, call.site, _PRODUCTS))
    return Hit(
        f"{zeros} of {count} results of `{history.text(call.site)}` are 0, though no "
        f"factor is: the product of so many factors is too small for "
        f"{made.dtype.removeprefix('torch.')}. Its gradient is 0 there, so nothing "
        "learns from it.",
        call.site,
        f"Add the logarithms of the factors instead, and go on with logarithms up to "
        f"{history.line(used)}: `exp()` of their sum would be 0 again. A sum of such "
        "products is `torch.logsumexp(…)` of their logarithms."
        if factors
        else f"Add logarithms instead: `{x}.log().sum(…)`.",
        symptom=used,
        related=(Related("logarithm taken here", used),),
        nodes=() if made.node is None else (made.node,),
        tensors=(made.tensor,),
        certainty=0.85,
    )


def _logarithm(history: History, call: Call) -> RawSite | None:
    """Return where the logarithm of a product is taken, or of a sum of products."""
    made = call.outputs[0]
    while (use := next(iter(history.uses(made.tensor, call.index)), None)) is not None:
        if plain(use.op) not in MULTIPLICATIONS or use.site != call.site:
            break
        call, made = use, use.outputs[0]
    uses = ahead(history, [made], lambda _, e: plain(e.op) in _KEEPING, call.index)
    return next((e.site for _, e in uses if plain(e.op) in _LOGARITHMS), None)
