"""One output of a layer is a logarithm in one place, and what it is of in another.

What it does
    Finds outputs of a layer that go through ``exp`` in one place, and in another,
    squared, through ``log``. Finds also what a loss adds up as the logarithm of a
    scale, next to the squares of a normal density, and what is used as the scale
    itself: of a flow, the factor whose logarithm belongs into its density.

Why is this bad
    ``exp(0.5 * logvar)`` says that the output is the logarithm of a variance;
    ``log(logvar ** 2)`` takes it for a standard deviation. Whatever the loss then asks
    of it, as a divergence from the standard normal, is asked of another number than the
    one that is drawn with.

Example
    ::

        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        kl = 0.5 * (mu**2 + logvar**2 - torch.log(logvar**2 + 1e-20) - 1)

Use instead
    ::

        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        kl = 0.5 * (mu**2 + logvar.exp() - logvar - 1)

When it stays quiet
    Where what goes through ``log`` was made positive by more than a square, and where
    the two are outputs of different layers. Where a factor counts otherwise in the loss
    than the logarithm of a scale does next to these squares.

References
    https://arxiv.org/abs/1312.6114
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isclose

from gradviz.dependence.flow import words
from gradviz.dependence.lineage import ahead, made_through
from gradviz.dependence.op_families import (
    LAYERS,
    MULTIPLICATIONS,
    PICKS,
    RESHAPES,
    plain,
)
from gradviz.dependence.ranges import Ranges
from gradviz.dependence.terms import Accounts, Term, multiple_of, multiplier
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_SHIFTING = words("add radd clamp clamp_min maximum")
_SQUARING = words("pow square abs")
_SCALING = MULTIPLICATIONS | words("div truediv neg")
_PARTS = PICKS | RESHAPES
_MOST = 60  # results that are followed to a square
_FAR = 6  # calls from a logarithm back to the output


@rule("GV693", "logarithm-taken-for-scale", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that squares such an output, to take its logarithm."""
    told = set[RawSite | None]()
    for call in history.calls:
        if plain(call.op) != "log" or call.site in told or not call.inputs:
            continue
        told.add(call.site)
        squared = _squared(history, call)
        exponential = None if squared is None else _exponential(history, squared)
        if squared is not None and exponential is not None:
            yield _hit(history, call, squared, exponential)
    yield from _added_up(history)


def _squared(history: History, call: Call) -> Call | None:
    """Return the call that squared a layer's output before its logarithm was taken."""
    value, before = call.inputs[0], call.index
    for _ in range(_FAR):
        made = history.producer(value, before)
        if made is None or not made.inputs or not value.requires_grad:
            return None
        op, same = plain(made.op), {each.tensor for each in made.inputs}
        if op in _SQUARING or (op == "mul" and len(same) == 1 < len(made.inputs)):
            return made if _is_output(history, made.inputs[0], made) else None
        if op not in _SHIFTING:
            return None
        learnt = [each for each in made.inputs if each.requires_grad]
        if len(learnt) != 1:
            return None
        value, before = learnt[0], made.index
    return None


def _is_output(history: History, value: Value, use: Call) -> bool:
    """Tell whether a layer gave a tensor as it is, or a part of it."""
    made = made_through(history, value, use.index, _PARTS)
    return made is not None and plain(made.op) in LAYERS


def _exponential(history: History, squared: Call) -> Call | None:
    """Return the call that takes the same output, perhaps scaled, for a logarithm."""
    uses = ahead(history, squared.inputs[:1], _is_scaled, most=_FAR)
    return next((use for _, use in uses if plain(use.op) == "exp"), None)


def _is_scaled(_: Value, use: Call) -> bool:
    learnt = [each for each in use.inputs if each.requires_grad]
    return plain(use.op) in _SCALING and len(learnt) == 1


# ---- the logarithm in a density, and the factor --------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """What is added to a loss, by which weight, and the call that scales with it."""

    value: Value
    weight: float
    scaling: Call


def _added_up(history: History) -> Iterator[Hit]:
    """Yield a hit for each line that scales with what a loss takes for a logarithm."""
    told, passes = set[RawSite | None](), set[RawSite | None]()
    for backward in history.backwards:
        if backward.site in passes:
            continue
        passes.add(backward.site)
        terms = history.once(Accounts).of(backward).terms
        squares = list(_squares(history, terms))
        for term in terms if squares else ():
            for scale in _scales(history, term):
                site = scale.scaling.site
                square = _lies_behind(history, scale, squares)
                if square is not None and site not in told:
                    told.add(site)
                    yield _mixed(history, scale, square, term)


def _squares(history: History, terms: Iterable[Term]) -> Iterator[tuple[Call, float]]:
    """Yield the squares that are terms of a loss, with the weight of their elements."""
    for term in terms:
        for value, weight in multiple_of(history, term):
            made = history.producer(value)
            if made is not None and weight and _is_square(made):
                yield made, weight


def _is_square(call: Call) -> bool:
    if plain(call.op) == "pow":
        return call.arguments[1:2] == (2,)
    same = len({each.tensor for each in call.inputs}) == 1 < len(call.inputs)
    return plain(call.op) == "square" or (plain(call.op) == "mul" and same)


def _scales(history: History, term: Term) -> Iterator[_Scale]:
    """Yield where a term, or a multiple of it, is a factor or a divisor of tensors.

    Nothing where its exponential is taken: then it is the logarithm of the factor.
    """
    waiting = [(value, w) for value, w in multiple_of(history, term) if w]
    found, seen = list[_Scale](), set[int]()
    for value, weight in waiting:
        for use in history.uses(value.tensor)[:_FAR]:
            others = [each for each in use.inputs if each.tensor != value.tensor]
            op = plain(use.op)
            if op in ("exp", "softplus"):
                return
            if not use.outputs or use.index in seen:
                continue
            seen.add(use.index)
            if not others and (op in _PARTS or op in _SCALING):
                factor = multiplier(use)
                if factor and len(waiting) < _MOST:
                    waiting.append((use.outputs[0], weight / factor))
            elif op in _SCALING and any(each.shape for each in others):
                found.append(_Scale(value, weight, use))
    yield from found


def _lies_behind(
    history: History, scale: _Scale, squares: list[tuple[Call, float]]
) -> Call | None:
    """Return the square of a normal density that a scaled result is in.

    A logarithm counts there twice as much as the square, with the other sign where it
    is of a factor. Its exponential would be another thing.
    """
    divides = "div" in plain(scale.scaling.op)
    if divides and scale.scaling.inputs[0].tensor == scale.value.tensor:
        return None
    sign = 1 if divides else -1
    ends = {
        call.index: call
        for call, weight in squares
        if isclose(scale.weight, 2 * sign * weight, rel_tol=1e-4)
    }
    made = scale.scaling.outputs if ends else ()
    uses = ahead(history, made, lambda _, use: plain(use.op) != "exp")
    return next((use for _, use in uses if use.index in ends), None)


def _mixed(history: History, scale: _Scale, square: Call, term: Term) -> Hit:
    name = history.name(scale.value, "What scales here")
    x = history.bare_name(scale.value)
    added = f"{history.quoted(term.site)}"
    divides = "div" in plain(scale.scaling.op)
    # What cannot be below 0 was made for a scale: then its logarithm is forgotten.
    is_scale = history.once(Ranges).of(scale.value, scale.scaling.index).low >= 0
    return Hit(
        f"{name} is {'a divisor' if divides else 'a factor'} in "
        f"`{history.text(scale.scaling.site)}`, and the loss adds it up, from {added}, "
        f"as the logarithm of one, next to the squares of {history.line(square.site)}: "
        "with its logarithm these would be the density of a normal distribution.",
        term.site if is_scale else scale.scaling.site,
        f"Add up its logarithm{f', `{x}.log()`' if x else ''}."
        if is_scale
        else f"Scale with its exponential{f', `{x}.exp()`' if x else ''}.",
        symptom=square.site,
        related=(
            Related("scales here", scale.scaling.site)
            if is_scale
            else Related("added up as a logarithm", term.site),
            Related("squared here", square.site),
        ),
        tensors=(scale.value.tensor,),
        certainty=0.7,
    )


def _hit(history: History, call: Call, squared: Call, exponential: Call) -> Hit:
    name = history.name(squared.inputs[0], "One output")
    x = history.bare_name(squared.inputs[0])
    taken = f"{history.quoted(exponential.site)}"
    return Hit(
        f"{name} is the logarithm of a variance or scale in {taken}, and "
        f"{history.quoted(squared.site)} squares it as if it were the scale itself; "
        f"{history.line(call.site)} takes the logarithm of that.",
        squared.site,
        f"Write `{x}.exp()` for the variance, and {name} for its logarithm."
        if x
        else "Take its exponential for the variance, and itself for the logarithm.",
        symptom=call.site,
        related=(
            Related("taken for a logarithm", exponential.site),
            Related("its logarithm is taken", call.site),
        ),
        tensors=(squared.inputs[0].tensor,),
        certainty=0.8,
    )
