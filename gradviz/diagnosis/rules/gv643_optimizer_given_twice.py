"""Two optimizers were given the same parameters, and others that learn none.

What it does
    Finds optimizers that step parameters of which an earlier optimizer has every one,
    while parameters that no optimizer has get gradients.

Why is this bad
    A line was copied and its argument kept: one model is stepped by both, for its own
    loss and against it, and the other one stays as it was initialised.

Example
    ::

        critic_optimizer = torch.optim.Adam(critic.parameters())
        actor_optimizer = torch.optim.Adam(critic.parameters())

Use instead
    ::

        critic_optimizer = torch.optim.Adam(critic.parameters())
        actor_optimizer = torch.optim.Adam(actor.parameters())

When it stays quiet
    Every parameter that gets gradients has an optimizer or is updated or copied by the
    program itself, either optimizer steps less than twice, or the parameters without
    one came later.

References
    https://pytorch.org/docs/stable/optim.html#constructing-it
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.training import given, owners
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import by_hand
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import History

_LEAST = 2  # steps of each of the two


@rule("GV643", "optimizer-given-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per optimizer that repeats an earlier one's parameters."""
    made = moves(history)
    optimizers = [
        each
        for key, each in history.program.optimizers.items()
        if len(made.get(key, ())) >= _LEAST
    ]
    left_out = set(learning.parameters(history)) & learning.trained(history)
    left_out -= learning.managed(history) | by_hand(history) | learning.copies(history)
    born = learning.births(history)
    for number, later in enumerate(optimizers):
        first = next(
            (o for o in optimizers[:number] if set(later.tensors) <= set(o.tensors)),
            None,
        )
        known = {k for k in left_out if k in born and born[k].index <= later.made}
        if first is None or not known:
            continue
        yield Hit(
            f"{optimizer_words(history, later.key)} was given parameters that "
            f"{optimizer_words(history, first.key)} steps already, all of them. "
            f"{learning.listed(history, known)} "
            f"{learning.plural(len(known), 'gets a gradient', 'get gradients')}, and "
            "no optimizer has been given them.",
            later.site,
            "Give this optimizer the parameters that its loss is to train.",
            symptom=made[later.key][0].site,
            related=(
                Related("has the same parameters", first.site),
                Related("left out", made_at(history, min(known))),
            ),
            tensors=tuple(sorted(known)),
            edit=given(later.site, owners(history, known)),
            certainty=0.9,
        )
