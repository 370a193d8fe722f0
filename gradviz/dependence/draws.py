"""Which calls draw random numbers from the engine."""

from __future__ import annotations

from gradviz.dependence.flow import words
from gradviz.dependence.op_families import plain
from gradviz.program import Call

DRAWS = words(
    "rand randn randint rand_like randn_like randint_like randperm bernoulli normal "
    "uniform random exponential multinomial poisson geometric cauchy log_normal rrelu "
    "gumbel_softmax dropout dropout1d dropout2d dropout3d alpha_dropout "
    "feature_dropout feature_alpha_dropout native_dropout"
)


def draws(call: Call) -> bool:
    """Tell whether a call takes random numbers from the engine."""
    if plain(call.op) not in DRAWS:
        return False
    return "dropout" not in call.op or _drops(call)


def _drops(call: Call) -> bool:
    """Tell whether a dropout is switched on."""
    flags = [each for each in call.arguments if isinstance(each, bool)]
    training = call.keywords.get("training", call.keywords.get("train"))
    rates = [each for each in call.arguments if type(each) is float]
    rate = call.keywords.get("p", rates[0] if rates else 0.5)
    return training is not False and (not flags or flags[0]) and rate != 0
