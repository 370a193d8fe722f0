"""The sideways step of the layered layout: moves the boxes of ordered rows."""

from __future__ import annotations

from dataclasses import dataclass, field

_SWEEPS = 16  # upwards and downwards in turn
_STRAIGHT = 1_000.0  # how much more a box on the longest path counts than others


@dataclass(slots=True)
class Grid:
    """Boxes and empty places (numbered after the boxes) in rows."""

    rows: list[list[int]]
    widths: list[float]
    row_of: list[int]
    depth: list[int]  # length of the longest path that leads here
    height: list[int]  # length of the longest path that leads on from here
    above: list[list[int]] = field(default_factory=list[list[int]])
    below: list[list[int]] = field(default_factory=list[list[int]])


def align(grid: Grid, gap: float) -> list[float]:
    """Return left edges: near the neighbours' middle, in order, without overlap.

    The longest paths run straight: a box continues the longest path that leads to it,
    and where boxes collide, one on a short side path, like a weight, gives way.
    """
    lefts = [0.0] * len(grid.row_of)
    weight = _weights(grid)
    for row in grid.rows:
        _settle(row, [0.0] * len(row), [1.0] * len(row), grid, gap, lefts)
    for sweep in range(_SWEEPS):
        # The last sweep is upwards: it brings weights, which have no wish of their own
        # on the way down, to the boxes that use them.
        downwards = sweep % 2 == 0
        near, length = grid.above, grid.depth
        if not downwards:
            near, length = grid.below, grid.height
        for row in grid.rows if downwards else reversed(grid.rows):
            wishes = [_wish(box, near[box], length, grid, lefts) for box in row]
            weights = [weight[box] for box in row]
            _settle(row, wishes, weights, grid, gap, lefts)
    leftmost = min(lefts, default=0.0)
    return [left - leftmost for left in lefts]


def _weights(grid: Grid) -> list[float]:
    """Return a large weight for the boxes on the longest paths, found from the end."""
    deepest = max(grid.depth, default=0)
    weights = [_STRAIGHT if depth == deepest else 1.0 for depth in grid.depth]
    for row in reversed(grid.rows):
        for box in row:
            longest = max((grid.depth[other] for other in grid.above[box]), default=0)
            for other in grid.above[box]:
                if weights[box] > 1 and grid.depth[other] == longest:
                    weights[other] = _STRAIGHT
    return weights


def _wish(
    box: int, near: list[int], length: list[int], grid: Grid, lefts: list[float]
) -> float:
    """Return the left edge that puts the box in line with its longest neighbours."""
    if not near:
        return lefts[box]
    longest = max(length[other] for other in near)
    middles = sorted(
        lefts[other] + grid.widths[other] / 2
        for other in near
        if length[other] == longest
    )
    half = len(middles) // 2
    median = (middles[half] + middles[-half - 1]) / 2
    return median - grid.widths[box] / 2


def _settle(
    row: list[int],
    wishes: list[float],
    weights: list[float],
    grid: Grid,
    gap: float,
    lefts: list[float],
) -> None:
    """Move a row as near to its wishes as its order allows.

    Isotonic regression by pooling: boxes whose wishes collide move as one, to the
    weighted mean of their wishes.
    """
    offset, offsets = 0.0, list[float]()
    for box in row:
        offsets.append(offset)
        offset += grid.widths[box] + gap
    pools: list[tuple[float, float, int]] = []  # mean wish, weight, number of boxes
    for wish, weight, shift in zip(wishes, weights, offsets, strict=True):
        mean, count = wish - shift, 1
        while pools and pools[-1][0] > mean:
            other, mass, others = pools.pop()
            mean = (mean * weight + other * mass) / (weight + mass)
            weight += mass
            count += others
        pools.append((mean, weight, count))
    settled = [mean for mean, _, count in pools for _ in range(count)]
    for box, shift, start in zip(row, offsets, settled, strict=True):
        lefts[box] = start + shift
