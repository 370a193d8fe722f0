"""Scores are masked with a number that a softmax does not take for minus infinity.

What it does
    Finds ``masked_fill``, ``where`` and ``scores[mask] = …`` whose result goes to a
    softmax, and that fill in a number next to 0, such as ``1e-9``, or one above all
    scores, such as ``1e9``. The line that chose the number is to blame.

Why is this bad
    A softmax takes differences: a score of ``1e-9`` gets as much weight as any other,
    and one of ``1e9`` gets all of it. Nothing fails, and what should be left out, often
    padding, is looked at.

Example
    ::

        scores = scores.masked_fill(mask == 0, 1e-9)

Use instead
    ::

        scores = scores.masked_fill(mask == 0, float("-inf"))

When it stays quiet
    The number is below all scores, or 0: weights may be masked once more after the
    softmax. Scores without a graph.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.op_families import numbers_in, of_op, plain
from gradviz.diagnosis.decisions.numbers import of_number
from gradviz.diagnosis.edits.numbers import masked
from gradviz.diagnosis.gradient_flow import origin
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_TWO = 2  # the scores and the mask
_SMALL = 1e-2  # nearer to 0 than scores that mean something


@rule("GV651", "mask-without-effect", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that masks so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if of_op(call.op) != "softmax" or not call.inputs[:1]:
            continue
        fill = origin(history, call.inputs[0], call.index)
        number = None if fill is None or fill.site in told else _filled(fill)
        if fill is not None and number is not None:
            told.add(fill.site)
            yield _hit(history, fill, call, number)


def _filled(call: Call) -> float | None:
    """Return the number that a mask filled in, where it does not leave out."""
    by_mask = any(each.dtype == "bool" for each in call.inputs[1:])
    stored = plain(call.op) == "setitem" and by_mask and len(call.inputs) == _TWO
    if plain(call.op) not in ("masked_fill", "where") and not stored:
        return None
    scores = next((each for each in call.inputs if each.requires_grad), None)
    scan = None if scores is None else scores.summary
    numbers = numbers_in(call)
    if scan is None or scan.minimum is None or scan.maximum is None or not numbers:
        return None
    number = numbers[-1]
    small = 0 < abs(number) < _SMALL and number > scan.minimum
    above = number > max(scan.maximum, 1)
    return number if small or above else None


def _hit(history: History, fill: Call, softmax: Call, number: float) -> Hit:
    much = "all weight" if number > 1 else "as much weight as other places"
    chosen = of_number(history, fill, number)
    by = ""
    if chosen.is_elsewhere:
        by = f" `{chosen.text}` in {history.line(chosen.site)} chose the number."
    return Hit(
        f"`{history.text(fill.site)}` fills {number:g} in, and the softmax of "
        f"{history.line(softmax.site)} gives these places {much}: they are not masked."
        f"{by}",
        chosen.site,
        'Fill in `float("-inf")`, or a number far below all scores.',
        symptom=softmax.site,
        related=(Related("filled in here", fill.site),) if by else (),
        line=chosen.line,
        edit=masked(fill.site),
        certainty=0.8,
    )
