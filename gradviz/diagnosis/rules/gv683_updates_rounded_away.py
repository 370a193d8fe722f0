"""Steps of an optimizer, or of an average, are too small for the dtype of the weights.

What it does
    Finds optimizers of ``bfloat16`` or ``float16`` parameters whose steps left at least
    nine of ten elements that had a gradient exactly as they were. Also moving averages
    of parameters that are kept in such a dtype, where most steps are smaller than half
    the distance between two of its numbers.

Why is this bad
    A ``bfloat16`` has 8 bits of precision: next to 1 the nearest number is 1.0078. A
    step that is smaller than half of such a distance is rounded away, and every later
    one just so: they do not add up. The loss stands still, without an error or a NaN.

Example
    ::

        model = model.to(torch.bfloat16)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

Use instead
    ::

        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)  # float32 weights
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(x).mean()
        shadow = [p.detach().float().clone() for p in model.parameters()]

When it stays quiet
    Optimizers that keep weights of their own in ``float32``, steps with a rate of 0,
    and elements without a gradient. Averages whose steps would not add up to anything.

References
    https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words
from gradviz.diagnosis.rules._rounded_averages import of_averages
from gradviz.program import Call, History, Optimizer

_LEAST = 0.9  # of the elements
_DTYPES = ("bfloat16", "float16")
_STEPS = 3


@rule("GV683", "updates-rounded-away", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per optimizer or average whose steps leave things as they are."""
    yield from of_averages(history)
    for each in history.program.optimizers.values():
        steps = moves(history).get(each.key, [])
        if each.narrow and each.stood >= _LEAST * each.narrow and len(steps) >= _STEPS:
            made = _narrowed(history, each)
            dtype = _dtype(history, each)
            site = each.site if made is None else made.site
            yield Hit(
                f"The steps of {optimizer_words(history, each.key)} change next to "
                f"nothing: {_share(each)} of the elements that had a gradient are the "
                f"same after a step. The weights are {dtype}, and what is less than "
                "half the distance to the next such number is rounded away.",
                site,
                "Keep the weights in float32, and let `torch.autocast` compute in "
                f"{dtype}.",
                symptom=steps[0].site,
                related=(Related("steps without effect", steps[0].site),),
                tensors=each.tensors,
                certainty=0.9,
            )


def _share(optimizer: Optimizer) -> str:
    """Return "99 %"; "all" where none moved."""
    if optimizer.stood == optimizer.narrow:
        return "all"
    return f"{100 * optimizer.stood // optimizer.narrow} %"


def _dtype(history: History, optimizer: Optimizer) -> str:
    seen = learning.last_seen(history)
    found = {seen[key].dtype for key in optimizer.tensors if key in seen}
    return next((each for each in _DTYPES if each in found), "of 16 bits")


def _narrowed(history: History, optimizer: Optimizer) -> Call | None:
    """Return the call that made a parameter's elements narrow, if the run has it."""
    mine = set(optimizer.tensors)
    for call in history.calls:
        if not call.inputs or not call.outputs or call.inputs[0].tensor not in mine:
            continue
        before, after = call.inputs[0].dtype, call.outputs[0].dtype
        if after in _DTYPES and before not in _DTYPES:
            return call
    return None
