"""GV504: a sigmoid or tanh so far out that it has no derivative left.

What it does
    Finds squashing functions whose gradient vanishes because their operands are large,
    and names what made them large: unscaled data, or the weights.
Why is this bad
    ``tanh(20)`` is exactly 1 in float32, its derivative exactly 0: nothing before it
    learns.
Example
    ``h = torch.tanh(x @ w)`` where ``x`` is around 500
Use instead
    Standardised inputs, ``(x - x.mean(0)) / x.std(0)``, and weights of a size that fits
    the number of inputs.
When it stays quiet
    Some elements are in the range where the function bends.
References
    LeCun et al., 1998, Efficient BackProp.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.gradient_flow import (
    is_activation,
    largest_source,
    magnitude,
    user_place,
    vanishes,
)
from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.program.events import Backward
from gradviz.program.history import History
from gradviz.program.values import Node

_FAR = 8.0  # beyond it sigmoid and tanh bend by less than a thousandth
_LARGE = 10.0


def check(history: History) -> Iterator[Hit]:
    """Yield the squashing functions that swallowed their gradients."""
    for backward in history.backwards:
        for run in backward.runs:
            node = history.node(run.node)
            if (
                node is not None
                and is_activation(node, "tanh", "sigmoid", "erf", "softsign")
                and vanishes(history, run)
            ):
                yield from _hit(history, backward, node)


def _hit(history: History, backward: Backward, node: Node) -> Iterator[Hit]:
    call = history.maker(node)
    if call is None or not call.inputs:
        return
    value = call.inputs[0]
    size = magnitude(value.summary)
    if value.summary is None or size is None or size < _FAR:
        return
    site, large = largest_source(history, call, _LARGE)
    place = user_place(history, node)
    what = ""
    if large is not None and large.summary is not None and site != call.site:
        name = history.name(large, "Its operand")
        what = (
            f" {name} is that large since `{history.text(site)}` "
            f"({history.line(site)}): up to {magnitude(large.summary):g}."
        )
    yield Hit(
        f"`{history.text(place)}` ({history.line(place)}) is saturated: its operand "
        f"lies in [{value.summary.minimum:g}, {value.summary.maximum:g}], where the "
        f"derivative is 0 in {value.dtype}, and its gradient vanishes.{what}",
        culprit=site if what else place,
        fix="Standardise the inputs to mean 0 and deviation 1, and scale the initial "
        "weights with `1 / sqrt(number of inputs)`.",
        symptom=backward.site,
        related=(Related("saturated here", place),),
        nodes=(node.key,),
        certainty=0.7,
    )


RULE = Rule("GV504", "saturated-tanh", "warning", check)
