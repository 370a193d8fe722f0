"""``sample()`` of a distribution cuts off its parameters; ``rsample()`` does not.

What it does
    Finds ``distribution.sample()`` on the way to a root where the leaves behind the
    distribution's parameters get no gradient in the whole run.

Why is this bad
    ``sample()`` draws under ``no_grad``. An encoder that learns only through its
    samples stays as it was initialised.

Example
    ::

        z = Normal(mean, std).sample()
        loss = decoder(z).pow(2).mean()

Use instead
    ::

        z = Normal(mean, std).rsample()
        loss = decoder(z).pow(2).mean()

When it stays quiet
    Policy gradients: there ``log_prob`` reaches the leaves.

References
    https://pytorch.org/docs/stable/distributions.html#pathwise-derivative
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.edits.calls import renamed
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History


@cut_rule("GV317", "sample-cuts-gradient", "sample")
def words(history: History, cut: Cut) -> Words:
    site = cut.place
    return Words(
        f"`{history.text(site)}` draws without gradients: what its distribution was "
        "made from is cut off.",
        "Use `rsample()`, or a loss with `log_prob(sample)`.",
        site,
        edit=renamed(site, {"sample": "rsample"}),
    )
