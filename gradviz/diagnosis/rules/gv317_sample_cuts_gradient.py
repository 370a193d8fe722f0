"""``sample()`` of a distribution cuts off its parameters; ``rsample()`` does not.

What it does
    Finds ``distribution.sample()`` on the way to a root where the leaves behind the
    distribution's parameters get no gradient in the whole run; or on the way to a term
    of a loss, where nothing else that reaches them is computed from what was drawn.

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
from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import code, in_code
from gradviz.diagnosis.edits.calls import renamed
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History, RawSite

_DISCRETE = ("bernoulli", "binomial", "poisson", "multinomial")


@cut_rule("GV317", "sample-cuts-gradient", "sample")
def words(history: History, cut: Cut) -> Words:
    site = cut.place
    is_discrete = plain(cut.call.op) in _DISCRETE  # what `rsample` refuses
    return Words(
        f"`{history.text(site)}` draws without gradients: what its distribution was "
        "made from is cut off.",
        _scored(history, site) if is_discrete else "Use `rsample()`.",
        site,
        edit=None if is_discrete else renamed(site, {"sample": "rsample"}),
    )


def _scored(history: History, site: RawSite | None) -> str:
    text, names = history.text(site), history.places.targets(site)
    drawn, draws, _ = text.partition(".sample(")
    if draws and len(names) == 1 and code(history, site) == f"{names[0]} = {text}":
        return f"Use a loss with `{in_code(drawn)}.log_prob({names[0]})`."
    return "Use a loss with `log_prob` of what is drawn."
