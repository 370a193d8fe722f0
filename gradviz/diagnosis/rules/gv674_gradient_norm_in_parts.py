"""A gradient penalty takes the norm along one dimension, not over a whole sample.

What it does
    Finds norms of a gradient by an input of more than two dimensions that leave several
    values for each sample, from which 1 is subtracted.

Why is this bad
    A critic is 1-Lipschitz where the gradient of its score by a whole sample has a norm
    of at most 1. Along the channels alone there is a norm for every pixel, and the
    penalty pulls each of them towards 1: for an image of n pixels towards a norm of
    √n. Nothing fails, and the critic is as steep as before.

Example
    ::

        penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()  # (batch, 1, 28, 28)

Use instead
    ::

        penalty = ((gradients.flatten(1).norm(2, dim=1) - 1) ** 2).mean()

When it stays quiet
    Gradients by rows of features, one value for each sample, norms that are compared
    with nothing.

References
    I. Gulrajani et al. (2017), Improved Training of Wasserstein GANs, equation 3,
    https://arxiv.org/abs/1704.00028
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradviz.dependence.numbers import integers_in, numbers_in
from gradviz.dependence.op_families import DIFFERENCES, NORMS, plain
from gradviz.diagnosis.edits.calls import operand_text
from gradviz.diagnosis.edits.shapes import flattened_first
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, RawSite, Value

_LEAST = 3  # dimensions of the input, the batch among them


@rule("GV674", "gradient-norm-in-parts", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that takes such a norm."""
    told = set[RawSite | None]()
    for grad in history.backwards:
        for result in grad.results if grad.create_graph else ():
            if result is None or len(result.shape) < _LEAST:
                continue
            for call in history.uses(result.tensor, grad.index):
                if call.site not in told and _is_penalty(history, call, result):
                    told.add(call.site)
                    yield _hit(history, grad, call, result)


def _is_penalty(history: History, call: Call, gradient: Value) -> bool:
    """Tell whether a call gives several norms a sample, which are to be 1."""
    if plain(call.op) not in NORMS or not call.outputs:
        return False
    made = call.outputs[0]
    if not made.shape or made.shape[0] != gradient.shape[0] or prod(made.shape[1:]) < 2:
        return False
    return any(
        plain(use.op) in DIFFERENCES
        and 1 in (*integers_in(use.arguments), *numbers_in(use.arguments))
        for use in history.uses(made.tensor, call.index)
    )


def _hit(history: History, grad: Backward, call: Call, gradient: Value) -> Hit:
    shape, made = tuple(gradient.shape), tuple(call.outputs[0].shape)
    name = operand_text(history, call.site) or "gradient"
    return Hit(
        f"The penalty takes {prod(made[1:])} gradient norms per sample instead of one, "
        f"and pulls each norm to 1. `{history.text(call.site)}` turns the gradient of "
        f"shape {shape} into shape {made}.",
        call.site,
        "Take the norm over all dimensions but the first: "
        f"`{name}.flatten(1).norm(2, dim=1)`.",
        edit=flattened_first(call.site),
        symptom=call.site,
        related=(Related("gradient computed here", grad.site),),
        tensors=(gradient.tensor,),
        certainty=0.85,
    )
