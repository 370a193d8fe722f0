"""What a run came to in numbers, to compare two runs of one program by."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from gradviz.dependence.learning import managed, once, parameters
from gradviz.program import Backward, History, RawSite, Value


@dataclass(frozen=True, slots=True)
class Measured:
    """How far gradients came, and where the loss went; None where nobody saw it."""

    passes: int
    reached: int  # parameters that a backward pass came to
    parameters: int  # of modules and optimizers, and other leaves that were reached
    first_loss: float | None = None
    last_loss: float | None = None


@once
def measured(history: History) -> Measured:
    """Measure a run: its passes, the parameters they reach, first and last loss.

    >>> from gradviz.program import Program
    >>> measured(History(Program("gradtape")))
    Measured(passes=0, reached=0, parameters=0, first_loss=None, last_loss=None)
    """
    ran = [each for each in history.backwards if each.error is None]
    reached = {leaf for each in ran for leaf in each.leaves}
    known = managed(history) | parameters(history).keys()
    losses = _losses(ran)
    return Measured(
        passes=len(ran),
        reached=len(reached),
        parameters=len(known | reached),
        first_loss=losses[0] if losses else None,
        last_loss=losses[-1] if losses else None,
    )


def _losses(passes: list[Backward]) -> list[float]:
    """Return the losses that were looked at, of the line with the most of them."""
    found = [
        (each.site, number)
        for each in passes
        if each.api == "backward"
        and each.roots
        and (number := _number(each.roots[0])) is not None
    ]
    if not found:
        return []
    lines: Counter[RawSite | None] = Counter(site for site, _ in found)
    most = lines.most_common(1)[0][0]
    return [number for site, number in found if site == most]


def _number(value: Value) -> float | None:
    summary = value.summary
    if summary is None or summary.count != 1:
        return None
    return math.nan if summary.bad else summary.minimum
