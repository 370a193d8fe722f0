"""An optimizer steps parameters that no forward pass uses: copies of the model's own.

What it does
    Finds optimizers that step at least twice, none of whose tensors ever gets a
    gradient or is computed with, while parameters that no optimizer has get gradients.

Why is this bad
    The optimizer was given copies, or another model's parameters. ``step()`` skips
    what has no gradient and says nothing: the model never changes.

Example
    ::

        optimizer = torch.optim.Adam(copy.deepcopy(net).parameters())
        loss = criterion(net(x), y)

Use instead
    ::

        optimizer = torch.optim.Adam(net.parameters())
        loss = criterion(net(x), y)

When it stays quiet
    Any of the optimizer's tensors gets a gradient or takes part in a computation, or
    the parameters with gradients came later: then another rule names what replaced
    them.

References
    https://pytorch.org/docs/stable/optim.html#constructing-it
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.diagnosis.rules import _leaves
from gradviz.diagnosis.rules._gradients import by_hand
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words
from gradviz.diagnosis.rules._provenance import made_at
from gradviz.program.events import OptimizerCall
from gradviz.program.history import History


def _check(history: History) -> Iterator[Hit]:
    optimizers = history.program.optimizers
    known = _leaves.managed(history)
    born = _leaves.births(history)
    for key, made in moves(history).items():
        optimizer = optimizers.get(key)
        steps = [each for each in made if isinstance(each, OptimizerCall)]
        met = [state for each in steps for state in each.states]
        if optimizer is None or len(steps) < 2 or any(each.has_grad for each in met):
            continue
        if any(_is_used(history, each, optimizer.made) for each in optimizer.tensors):
            continue
        left_out = {
            each
            for each in _leaves.trained(history) - known - by_hand(history)
            if each in born and born[each].index <= optimizer.made
        }
        if left_out:
            yield Hit(
                f"{optimizer_words(history, key)} steps parameters that nothing is "
                "computed with and that never get a gradient. The gradients go to "
                f"{_leaves.listed(history, left_out)}, which no optimizer has.",
                optimizer.site,
                "Give the optimizer the parameters of the model that computes the "
                "loss, not copies of them.",
                symptom=made[0].site,
                related=(Related("created here", made_at(history, min(left_out))),),
                tensors=tuple(sorted(left_out)),
                certainty=0.9,
            )


def _is_used(history: History, tensor: int, since: int) -> bool:
    """Return whether a graph was built on a tensor since then."""
    return any(call.nodes and call.index > since for call in history.uses(tensor))


RULE = Rule("GV641", "optimizer-of-other-parameters", "warning", _check)
