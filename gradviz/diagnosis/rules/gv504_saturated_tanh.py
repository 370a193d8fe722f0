"""GV504: a sigmoid, tanh or clamp so far out that it has no derivative left.

What it does
    Finds squashing functions whose gradient vanishes because their operands are large,
    and names what made them large: unscaled data, or the weights. So with ``clamp`` to
    two bounds that no element ever lies between.
Why is this bad
    ``tanh(20)`` is exactly 1 in float32, its derivative exactly 0: nothing before it
    learns.
Example
    ``h = torch.tanh(x @ w)`` where ``x`` is around 500
Use instead
    Standardised inputs, ``(x - x.mean(0)) / x.std(0)``, and weights of a size that fits
    the number of inputs.
When it stays quiet
    Some elements are in the range where the function bends, or were in some passes and
    the others not far from it: a critic may be sure of its verdict for a while.
References
    LeCun et al., 1998, Efficient BackProp.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.op_families import function_of, numbers_in
from gradviz.diagnosis.gradient_flow import (
    is_activation,
    largest_source,
    magnitude,
    user_place,
    vanishes,
)
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, History, Node, RawSite, Summary, Value

_FAR = 8.0  # beyond it sigmoid and tanh bend by less than a thousandth
_VERY_FAR = 50.0  # where no training comes to by the way
_MOST = 0.9  # of the passes
_LARGE = 10.0
_BOUNDS = {"hardtanh": [-1.0, 1.0], "relu6": [0.0, 6.0], "hardsigmoid": [-3.0, 3.0]}
_FIX = (
    "Standardise the inputs to mean 0 and deviation 1, and scale the initial weights "
    "with `1 / sqrt(number of inputs)`."
)


@rule("GV504", "saturated-tanh", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the squashing functions that swallowed their gradients."""
    met: dict[RawSite | None, list[tuple[Backward, Node, bool, bool]]] = {}
    for backward in history.backwards:
        for run in backward.runs:
            node = history.node(run.node)
            if node is None:
                continue
            clamp = is_activation(node, "clamp", *_BOUNDS)
            if clamp or is_activation(node, "tanh", "sigmoid", "erf", "softsign"):
                gone = vanishes(history, run) and (
                    not clamp or _is_outside(history, node)
                )
                met.setdefault(node.site, []).append((backward, node, clamp, gone))
    for found in met.values():
        gone = [each for each in found if each[-1]]
        backward, node, clamp, _ = gone[0] if gone else found[0]
        if clamp and len(gone) == len(found) > 1:
            yield from _hit(history, backward, node, 0.0)
        elif not clamp and gone:
            often = len(gone) >= _MOST * len(found)
            yield from _hit(history, backward, node, _FAR if often else _VERY_FAR)


def _is_outside(history: History, node: Node) -> bool:
    """Tell whether all elements lie beyond one of two bounds."""
    call = history.maker(node)
    summary = call.inputs[0].summary if call is not None and call.inputs else None
    if call is None or summary is None:
        return False
    given = numbers_in(call) or _BOUNDS.get(function_of(node.name), [])
    least, most = summary.minimum, summary.maximum
    if len(given) != 2 or least is None or most is None or summary.count == 1:
        return False
    return most <= min(given) or least >= max(given)


def _hit(history: History, backward: Backward, node: Node, far: float) -> Iterator[Hit]:
    call = history.maker(node)
    if call is None or not call.inputs:
        return
    value = call.inputs[0]
    size = magnitude(value.summary)
    if value.summary is None or size is None or size < far:
        return
    site, large = largest_source(history, call, _LARGE)
    place = user_place(history, node)
    what = "" if site == call.site else _since(history, large, site)
    # Data may be large: then it is the bounds that are wrong. What learns begins wrong.
    blamed = what and (far or (large and large.is_leaf and large.requires_grad))
    yield Hit(
        f"{history.quoted(place)} is saturated: its operand lies in "
        f"{_range(value.summary)} the derivative is 0 in {value.dtype}, and its "
        f"gradient vanishes.{what}",
        culprit=site if blamed else place,
        fix=_FIX
        if far
        else "Bring its operand into the range between the bounds, or "
        "let gradients pass: clamp the values under `torch.no_grad()` after each step.",
        symptom=backward.site,
        related=(
            Related("saturated here", place),
            Related("made that large here", site if what else None),
        ),
        nodes=(node.key,),
        certainty=0.7,
    )


def _range(summary: Summary) -> str:
    """Return where elements lie, so that the sentence goes on with what is there."""
    least, most = summary.minimum or 0.0, summary.maximum or 0.0
    between = f"[{least:g}, {most:g}]"
    if least < 0 < most:
        return f"{between}, with nearly all elements so far from 0 that"
    return f"{between}, where"


def _since(history: History, large: Value | None, site: RawSite | None) -> str:
    """Return a sentence about who made an operand large, with a space before it."""
    if large is None or large.summary is None:
        return ""
    name = history.name(large, "Its operand")
    size = magnitude(large.summary)
    return f" {name} is that large since {history.quoted(site)}: up to {size:g}."
