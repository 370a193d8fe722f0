"""A derivative is taken of a mean over the samples, and used for each sample.

What it does
    Finds ``autograd.grad(y.mean(), x, create_graph=True)`` where ``x`` is data with a
    row for each element of ``y``, and the result is computed with.

Why is this bad
    Each row of the result is the derivative of its sample over the number of samples,
    and a second one taken so is over its square. An equation whose terms hold
    derivatives and values then loses its derivatives, and nothing fails.

Example
    ::

        u_t = torch.autograd.grad(u.mean(), t, create_graph=True)[0]
        loss = (u_t + u).square().mean()

Use instead
    ::

        u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]

When it stays quiet
    One sample, inputs that come from parameters, as in meta learning, derivatives
    without a graph, and those of which the sign alone is used.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.cuts import sampled
from gradviz.dependence.learning import is_parameter
from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.calls import operand_text
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, RawSite, Value


@rule("GV684", "derivative-of-a-mean", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that differentiates a mean by data."""
    told = set[RawSite | None]()
    for each in sampled(history):
        mean = None if each.site in told else _mean(history, each)
        for given, result in zip(each.inputs, each.results, strict=False):
            if mean is None or result is None or not _is_data(history, each, given):
                continue
            use = _use(history, each, result)
            if use is not None and given.shape[0] == mean.inputs[0].shape[0]:
                told.add(each.site)
                yield _hit(history, each, mean, given, use)
                break


def _mean(history: History, backward: Backward) -> Call | None:
    """Return the call that made the root a mean over samples, if it is one."""
    if backward.api != "grad" or not backward.create_graph or len(backward.roots) != 1:
        return None
    made = history.producer(backward.roots[0], before=backward.index)
    if made is None or plain(made.op) != "mean" or backward.roots[0].shape:
        return None
    shape = made.inputs[0].shape
    return made if shape and shape[0] > 1 else None


def _is_data(history: History, backward: Backward, given: Value) -> bool:
    """Tell whether a tensor has rows that no parameter is behind."""
    if not given.shape or given.is_parameter:
        return False
    behind = history.behind([given], backward.index)
    return not any(is_parameter(history, each) for each in behind)


def _use(history: History, backward: Backward, result: Value) -> Call | None:
    """Return the first call that computes with a derivative, best in another line."""
    uses = history.uses(result.tensor, backward.index)
    uses = [each for each in uses if plain(each.op) != "sign"]
    away = (each for each in uses if not same_line(each.site, backward.site))
    return next(away, uses[0] if uses else None)


def _hit(
    history: History, backward: Backward, mean: Call, given: Value, use: Call
) -> Hit:
    count, by = mean.inputs[0].shape[0], history.name(given, "its input")
    y = in_code(operand_text(history, mean.site, ("mean",)))
    return Hit(
        f"{history.quoted(mean.site)} is a mean over {count} samples, so its "
        f"derivative by {by} has for each sample only 1/{count} of that sample's "
        f"derivative. {history.quoted(use.site)} computes with it.",
        backward.site,
        f"Differentiate the sum, `{y}.sum()`, not the mean.",
        symptom=use.site,
        related=(Related("used here", use.site),),
        tensors=(given.tensor,),
        certainty=0.8,
    )
