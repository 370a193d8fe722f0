"""Steps of an optimizer, or of an average, are too small for the dtype of the weights.

What it does
    Finds optimizers of ``bfloat16`` or ``float16`` parameters whose steps left at least
    nine of ten elements that had a gradient exactly as they were, and single parameters
    of those that stand still while others of the same optimizer move, as the weights of
    a norm: near 1, such numbers lie further apart. Also moving averages of parameters
    that are kept in such a dtype, where most steps are smaller than half the distance
    between two of its numbers.

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
    elements without a gradient, and steps that ``float32`` would round away just so.
    Single parameters of which few steps were measured, or which have moved by the end
    of these, as where an optimizer carries on what it could not write. Averages whose
    steps would not add up to anything.

References
    https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words
from gradviz.diagnosis.rules._rounded_averages import of_averages
from gradviz.program import Call, History, Optimizer

_LEAST = 0.9  # of the elements
_DTYPES = ("bfloat16", "float16")
_STEPS = 3
_STANDING = 0.99  # of the elements of one parameter
_MEASURED = 6  # steps of one parameter


@rule("GV683", "updates-rounded-away", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per optimizer or average whose steps leave things as they are."""
    yield from of_averages(history)
    for each in history.program.optimizers.values():
        share = _share(each, each.pushed)
        if share >= _LEAST and len(moves(history).get(each.key, [])) >= _STEPS:
            part = "all" if share == 1 else f"{int(100 * share)} %"
            yield _hit(
                history,
                each,
                each.tensors,
                f"{optimizer_words(history, each.key)} trains next to nothing: {part} "
                "of the elements that have a gradient are the same after a step. The "
                f"weights are {(dtype := _dtype(history, each.tensors))}, and a step "
                f"smaller than half the distance to the next {dtype} number is rounded "
                "away.",
            )
        elif standing := _standing(each):
            yield _hit(history, each, standing, _left_out(history, each, standing))


def _hit(
    history: History, optimizer: Optimizer, tensors: Collection[int], message: str
) -> Hit:
    made = _narrowed(history, tensors)
    steps = moves(history).get(optimizer.key, [])
    step = steps[0].site if steps else optimizer.site
    cast = "" if made is None else history.text(made.site)
    moves_too = "device" in cast or "cuda" in cast
    keep = f"Leave `{cast}` out: keep" if cast and not moves_too else "Keep"
    return Hit(
        message,
        optimizer.site if made is None else made.site,
        f"{keep} the weights in float32, and let `torch.autocast` compute in "
        f"{_dtype(history, tensors)}.",
        symptom=step,
        related=(Related("optimizer steps here", step),),
        tensors=tuple(tensors),
        certainty=0.9,
    )


def _left_out(history: History, optimizer: Optimizer, standing: list[int]) -> str:
    """Say which parameters stand still, while others move."""
    steps = min(optimizer.pushed[key].steps for key in standing)
    dtype = _dtype(history, standing)
    return (
        f"{optimizer_words(history, optimizer.key)} never changes "
        f"{learning.listed(history, standing)}, in spite of the gradients. The weights "
        f"are {dtype}, and each step is smaller than half the distance to the next "
        f"{dtype} number, so it is rounded away (measured in {steps} steps)."
    )


def _standing(optimizer: Optimizer) -> list[int]:
    """Return the parameters that no step has moved, where others of it move."""
    shares = {key: _share(optimizer, [key]) for key in optimizer.pushed}
    if all(each >= _LEAST for each in shares.values()):
        return []
    rows = optimizer.pushed
    standing = [key for key, each in shares.items() if each >= _STANDING]
    return [key for key in standing if rows[key].steps >= _MEASURED]


def _share(optimizer: Optimizer, keys: Collection[int]) -> float:
    """Return the share of elements that stood, of those of some parameters."""
    rows = [optimizer.pushed[key] for key in keys]
    elements = sum(each.elements for each in rows)
    return sum(each.stood for each in rows) / elements if elements else 0.0


def _dtype(history: History, tensors: Collection[int]) -> str:
    seen = learning.last_seen(history)
    found = {seen[key].dtype for key in tensors if key in seen}
    return next((each for each in _DTYPES if each in found), "of 16 bits")


def _narrowed(history: History, tensors: Collection[int]) -> Call | None:
    """Return the call that made a parameter's elements narrow, if the run has it."""
    mine = set(tensors)
    for call in history.calls:
        if not call.inputs or not call.outputs or call.inputs[0].tensor not in mine:
            continue
        before, after = call.inputs[0].dtype, call.outputs[0].dtype
        if after in _DTYPES and before not in _DTYPES:
            return call
    return None
