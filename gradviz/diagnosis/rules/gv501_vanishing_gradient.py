"""GV501: the gradient shrinks from layer to layer until nothing is left.

What it does
    Follows the norm of the gradient through the repeated functions of a pass, and finds
    those that multiply it with a factor below 1 again and again. Of activations, the
    line that chose them is to blame.
Why is this bad
    Each sigmoid passes on at most a quarter of its gradient. After a dozen of them the
    first layers hardly learn; over many time steps early inputs have no influence.
Example
    ``for w in weights: h = torch.sigmoid(h @ w)`` with 16 weights
Use instead
    ``relu`` or ``gelu``, normalisation, residual connections, gates; weights that are
    initialised for the activation.
When it stays quiet
    All leaves get gradients of like size. Weights shared over time steps do, whatever
    the early steps get: there it is an info, once float32's rounding swallows it. None
    where the last steps gave the same: a loop that has arrived at its fixed point.
References
    Glorot and Bengio, 2010; He et al., 2015.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.dependence.alike import same_numbers
from gradviz.dependence.op_families import function_of
from gradviz.diagnosis.decisions.decision import Decision, of_function
from gradviz.diagnosis.gradient_flow import (
    Chain,
    chain_places,
    chains,
    course,
    initialised,
    is_activation,
    leaf_norms,
    user_place,
    weights_words,
)
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History

_LEAST = 6  # nodes in a chain
_LEAVES = 1e-5  # the smallest gradient of a leaf over the largest
_FLAT = 1e-4  # likewise, where the slopes of a chain of activations make it
_SHARED = 1e-7  # the gradient at the far end of a chain of shared weights

_FIX = (
    "Use an activation that keeps the gradient (relu, gelu), weights initialised for "
    "it, normalisation or residual connections; over time steps use a gated cell."
)
_FIX_OVER_STEPS = (
    "Where early steps matter: a gated cell whose forget gate begins open (a bias of "
    "1), or a shorter way to them, such as attention."
)


@rule("GV501", "vanishing-gradient", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the longest decline of each pass."""
    for backward in history.backwards:
        steady = [e for e in chains(history, backward, _LEAST) if e.steady(-1)]
        arrived = any(_has_settled(history, each) for each in steady)
        found = [each for each in steady if _matters(history, each, arrived)]
        if found:
            chain = min(found, key=lambda each: each.own)
            yield _hit(history, chain, _drawn_small(history, chain, found))


def _matters(history: History, chain: Chain, arrived: bool) -> bool:
    if chain.ratio > _LEAVES and not _is_flat(chain):
        return False
    shared = chain.ratio < _SHARED and len(chain.nodes) >= 10
    return (shared and not arrived) or _starves(history, chain)


def _has_settled(history: History, chain: Chain) -> bool:
    """Tell whether the last runs of a loop gave the same: it looks for a fixed point.

    There the first runs have no influence because the loop has arrived.
    """
    calls = [history.maker(node) for node in chain.nodes[:2]]
    found = [each.outputs[0].summary for each in calls if each and each.outputs]
    if len(found) < 2 or found[0] is None or found[1] is None:
        return False
    return same_numbers(found[0], found[1])


def _is_flat(chain: Chain) -> bool:
    """Tell whether it is the slopes of activations alone that make a decline.

    Then it is no chance of one draw of the weights.
    """
    flat = is_activation(chain.nodes[0], "sigmoid", "tanh")
    return flat and chain.own <= math.log(chain.ratio)


def _starves(history: History, chain: Chain) -> bool:
    """Tell whether all leaves behind a chain got much less than another leaf.

    Not only the first time steps, nor one branch beside residual connections: what
    lies further behind gets its gradient around it.
    """
    norms = leaf_norms(history, chain.backward)
    behind = leaf_norms(history, chain.backward, after=chain.nodes[-1]).values()
    largest = max(norms.values(), default=0.0)
    most = max(behind, default=largest)
    least = _FLAT if _is_flat(chain) else _LEAVES
    return len(norms) >= 3 and largest > 0 and most < least * largest


def _drawn_small(history: History, chain: Chain, found: list[Chain]) -> Decision | None:
    """Return the line that drew the weights, where they explain most of a decline.

    Those of the chain itself, or of the layers between activations that pass it on.
    """
    drawn = initialised(history, chain)
    passed_on = chain.own > 0.5 * math.log(chain.ratio)
    for other in found if drawn is None and passed_on else ():
        drawn = drawn or initialised(history, other)
    return drawn


def _hit(history: History, chain: Chain, drawn: Decision | None) -> Hit:
    node = chain.blamed(history, -1)
    place = user_place(history, node)
    weights = weights_words(history, drawn, "small")
    starves = _starves(history, chain)
    early = (
        "the earliest layers hardly learn"
        if starves
        else "the earliest steps have no influence on what the shared weights learn"
    )
    call, chosen = history.maker(node), None
    if drawn is None and call is not None and is_activation(node, "sigmoid", "tanh"):
        decision = of_function(history, call, ("Sigmoid", "Tanh"))
        said = function_of(node.name) in decision.text.lower()  # not a recurrent cell
        chosen = decision if decision.is_elsewhere and said else None
    blamed = drawn or chosen
    return Hit(
        f"{course(history, chain, node, grows=False)}, so that {early}.{weights}"
        f"{'' if chosen is None else chosen.words(history)}",
        culprit=place if blamed is None else blamed.site,
        line=None if blamed is None else blamed.line,
        fix=_FIX if starves else _FIX_OVER_STEPS,
        symptom=chain.backward.site,
        related=chain_places(place, blamed),
        nodes=(node.key,),
        severity=None if starves else "info",
        certainty=0.6,
    )
