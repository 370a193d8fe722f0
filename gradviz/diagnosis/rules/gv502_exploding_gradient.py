"""GV502: the gradient grows from layer to layer without end.

What it does
    Follows the norm of the gradient through the repeated functions of a pass, and finds
    those that multiply it with a factor above 1 again and again; also repeated lines
    whose values or gradients overflow to Inf.
Why is this bad
    One step with such a gradient throws the parameters far away, or makes them NaN.
Example
    ``for t in range(100): h = h @ w`` where the largest eigenvalue of ``w`` is 2
Use instead
    Weights scaled to keep the norm (orthogonal, spectral), normalisation, gates;
    ``clip_grad_norm_`` before the step as a safety net.
When it stays quiet
    The norms stay within five orders of magnitude; within three, where the values grow
    as well on their way through the same functions. After the first step of an
    optimizer: then the steps may have made the weights large.
References
    Pascanu, Mikolov and Bengio, 2013.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradviz.dependence.learning import steps
from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.gradient_flow import (
    Chain,
    chain_places,
    chains,
    course,
    initialised,
    user_place,
    weights_words,
)
from gradviz.diagnosis.nonfinite_kinds import of_kind
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History

_LEAST = 6
_RATIO = 1e5
_BOTH = 1e3  # of the gradient and, the other way, of the values
_LARGE = 100.0  # norm of a gradient; what grows up to less hurts nobody
_FIX = (
    "Scale the repeated weight so that it keeps the norm (orthogonal or spectral "
    "initialisation), normalise between the repetitions, or clip the gradients before "
    "the step."
)


@rule("GV502", "exploding-gradient", "warning", worst="error")
def check(history: History) -> Iterator[Hit]:
    """Yield the steepest growth of each pass, and repeated lines that overflowed."""
    stepped = next((each.index for each in steps(history)), None)
    diverged = bool(of_kind(history, "diverged"))
    for backward in history.backwards:
        if stepped is not None and backward.index > stepped:
            break  # what grew by then may be the weights, and something else the cause
        found = [
            chain
            for chain in chains(history, backward, _LEAST)
            if chain.norms[-1] > _LARGE
            and chain.steady(1)
            and _explodes(history, chain)
        ]
        if found:
            hit = _hit(history, max(found, key=lambda each: each.own))
            # What grew before any step is why the steps were too long, not they why.
            sure = diverged and stepped is not None
            yield replace(hit, severity="error", certainty=1.0) if sure else hit
    for birth in of_kind(history, "growth"):
        passed = "gave" if birth.node is None else f"({birth.node.name}) passed on"
        yield words.hit(
            history,
            birth,
            f"{history.quoted(birth.site)} {passed} Inf: its values had grown with "
            "every repetition until they "
            f"overflowed{words.between(history, birth.call)}.",
            _FIX,
        )


def _explodes(history: History, chain: Chain) -> bool:
    """Tell whether a gradient grows too much, alone or with the values it meets.

    The gradient of a weight is the product of both: where each grows a thousandfold,
    that of the first layers' results and the last layers' operands do a millionfold.
    """
    both = min(chain.ratio, chain.forward_ratio(history))
    return chain.ratio > _RATIO or both > _BOTH


def _hit(history: History, chain: Chain) -> Hit:
    node = chain.blamed(history, 1)
    place = user_place(history, node)
    drawn = initialised(history, chain)
    weights = weights_words(history, drawn, "large")
    return Hit(
        f"{course(history, chain, node, grows=True)}.{weights}",
        culprit=place if drawn is None else drawn.site,
        fix=_FIX,
        symptom=chain.backward.site,
        related=chain_places(place, drawn),
        line=None if drawn is None else drawn.line,
        nodes=(node.key,),
        certainty=0.6,
    )
