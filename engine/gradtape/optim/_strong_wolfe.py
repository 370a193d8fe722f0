"""A search for a step length that meets the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._tensor.tensor import Tensor

ENOUGH_DECREASE = 1e-4
ENOUGH_FLATTENING = 0.9
SMALLEST_CHANGE = 1e-9


class Evaluation(NamedTuple):
    """A loss and the gradient of all parameters there, as one vector."""

    loss: float
    grad: Tensor


class Point(NamedTuple):
    """What is known at one length: the loss, the gradient, the slope along the line."""

    length: Any
    loss: float
    grad: Tensor
    slope: Any


@dataclass(frozen=True)
class Objective:
    """The loss along a line, and what is known at its start."""

    at: Callable[[Any], Evaluation]
    direction: Tensor
    start: Evaluation
    slope: Tensor

    def probe(self, length: Any) -> Point:
        """Evaluate loss, gradient and slope at a length."""
        found = self.at(length)
        slope = found.grad.dot(self.direction)
        return Point(length, found.loss, found.grad, slope)

    def rises(self, point: Point) -> bool:
        """Tell whether the loss did not fall enough (Armijo's condition)."""
        allowed = self.start.loss + ENOUGH_DECREASE * point.length * self.slope
        return bool(point.loss > allowed)

    def is_flat(self, point: Point) -> bool:
        """Tell whether the slope became small enough (the curvature condition)."""
        return bool(abs(point.slope) <= -ENOUGH_FLATTENING * self.slope)


def search(
    objective: Objective, length: Any, limit: int
) -> tuple[Evaluation, Any, int]:
    """Return the best point found, its length, and the number of evaluations.

    ``length`` is where to look first and ``limit`` how many more looks are allowed.
    Nocedal and Wright, "Numerical Optimization", 2006, algorithms 3.5 and 3.6.
    """
    bracket, tries = _enclose(objective, length, limit)
    if len(bracket) > 1:
        best, tries = _zoom(objective, bracket, tries, limit)
    else:
        best = bracket[0]
    return Evaluation(best.loss, best.grad), best.length, tries + 1


def _enclose(objective: Objective, length: Any, limit: int) -> tuple[list[Point], int]:
    """Go on until two points enclose a good one, or one point is good itself."""
    first = Point(0, *objective.start, objective.slope)
    before, here = first, objective.probe(length)
    for tries in range(limit):
        if objective.rises(here) or (tries > 1 and here.loss >= before.loss):
            return [before, here], tries
        if objective.is_flat(here):
            return [here], tries
        if here.slope >= 0:
            return [before, here], tries
        least = here.length + 0.01 * (here.length - before.length)
        further = _lowest_of_cubic(before, here, (least, here.length * 10))
        before, here = here, objective.probe(further)
    return [first, here], max(limit, 0)


def _zoom(
    objective: Objective, bracket: list[Point], tries: int, limit: int
) -> tuple[Point, int]:
    """Shrink the bracket around a good point; return the better of its ends."""
    extent = objective.direction.abs().max()
    crept = False
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    while tries < limit:
        one, two = bracket
        if abs(two.length - one.length) * extent < SMALLEST_CHANGE:
            break
        length = _lowest_of_cubic(one, two)
        length, crept = _off_the_ends(length, one.length, two.length, crept)
        here = objective.probe(length)
        tries += 1
        if objective.rises(here) or here.loss >= bracket[low].loss:
            bracket[1 - low] = here
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        high = bracket[1 - low]
        if objective.is_flat(here):
            return here, tries
        if here.slope * (high.length - bracket[low].length) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = here
    return bracket[low], tries


def _off_the_ends(length: Any, one: Any, two: Any, crept: bool) -> tuple[Any, bool]:
    """Keep a length a tenth of the bracket off its ends, the second time in a row."""
    least, most = min(one, two), max(one, two)
    margin = 0.1 * (most - least)
    if min(most - length, length - least) >= margin:
        return length, False
    if not (crept or length >= most or length <= least):
        return length, True
    if abs(length - most) < abs(length - least):
        return most - margin, False
    return least + margin, False


def _lowest_of_cubic(one: Point, two: Point, bounds: Any = None) -> Any:
    """Return where the cubic through two points, with their slopes, is lowest.

    That is within ``bounds``, else between the points; their middle if there is none.
    """
    if bounds is None:
        bounds = sorted((one.length, two.length))
    if one.length > two.length:
        one, two = two, one
    width = two.length - one.length
    steep = (
        one.slope + two.slope - 3 * (one.loss - two.loss) / (one.length - two.length)
    )
    square = steep**2 - one.slope * two.slope
    if not square >= 0:
        return (bounds[0] + bounds[1]) / 2.0
    root = square.sqrt()
    share = (two.slope + root - steep) / (two.slope - one.slope + 2 * root)
    return min(max(two.length - width * share, bounds[0]), bounds[1])
