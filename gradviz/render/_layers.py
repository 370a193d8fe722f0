"""A layered layout for pictures of at most a few hundred boxes.

Boxes stand in rows so that links point down; long links pass through empty places in
the rows between; the order in each row follows the neighbours; the boxes then move
sideways towards their neighbours without overlapping. Pure: sizes in, positions out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_ALIGNING_SWEEPS = 16  # upwards and downwards in turn
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
    for sweep in range(_ALIGNING_SWEEPS):
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


_SWEEPS = 8
_LONGEST = 16  # rows; a longer link is drawn straight, without places of its own


@dataclass(frozen=True, slots=True)
class Placement:
    """Centres of the boxes, the points of each link, and the size of the whole."""

    centres: tuple[tuple[float, float], ...]
    routes: tuple[tuple[tuple[float, float], ...], ...]  # from box to box, downwards
    width: float
    height: float


def place(
    sizes: Sequence[tuple[float, float]],
    links: Sequence[tuple[int, int]],
    *,
    gap: float = 24.0,
    row_gap: float = 36.0,
) -> Placement:
    """Lay out boxes of the given sizes, joined by (source, target) links.

    >>> place([(10, 10), (10, 10)], [(0, 1)], gap=4, row_gap=20).centres
    ((5.0, 5.0), (5.0, 35.0))
    """
    down = _without_cycles(len(sizes), links)
    grid, chains = _build_grid(sizes, down)
    _order(grid)
    lefts = align(grid, gap)
    heights = [
        max((sizes[box][1] for box in row if box < len(sizes)), default=0.0)
        for row in grid.rows
    ]
    tops = [0.0]
    for height in heights:
        tops.append(tops[-1] + height + row_gap)
    xs = [left + width / 2 for left, width in zip(lefts, grid.widths, strict=True)]
    ys = [tops[row] + heights[row] / 2 for row in grid.row_of]
    points = list(zip(xs, ys, strict=True))
    # A link crosses the rows between straight, so that it clears their tallest box.
    sides = [(tops[row], tops[row] + heights[row]) for row in grid.row_of]
    routes = tuple(
        (
            points[chain[0]],
            *((xs[place], y) for place in chain[1:-1] for y in sides[place]),
            points[chain[-1]],
        )
        for chain in chains
    )
    width = max((x + w / 2 for x, w in zip(xs, grid.widths, strict=True)), default=0.0)
    height = max(tops[-1] - row_gap, 0.0)
    return Placement(tuple(points[: len(sizes)]), routes, width, height)


def _without_cycles(
    count: int, links: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Turn round the links that close a cycle, as a depth-first walk meets them."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(links):
        outgoing[source].append(number)
    state = [0] * count  # 0: not met, 1: on the path, 2: done
    down = list(links)
    for start in range(count):
        stack = [(start, iter(outgoing[start]))] if state[start] == 0 else []
        state[start] = state[start] or 1
        while stack:
            box, waiting = stack[-1]
            number = next(waiting, None)
            if number is None:
                state[box] = 2
                stack.pop()
                continue
            target = links[number][1]
            if state[target] == 1:
                down[number] = (target, box)
            elif state[target] == 0:
                state[target] = 1
                stack.append((target, iter(outgoing[target])))
    return down


def _rank(
    count: int, links: list[tuple[int, int]]
) -> tuple[list[int], list[int], list[int]]:
    """Return each box's row, depth and height.

    The row is below all sources; parameters stand in the row just above their use.
    """
    incoming: list[list[int]] = [[] for _ in range(count)]
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for source, target in links:
        if source != target:
            outgoing[source].append(target)
            incoming[target].append(source)
    waiting = [len(sources) for sources in incoming]
    order = [box for box in range(count) if waiting[box] == 0]
    depth, height, is_sunk = [0] * count, [0] * count, [False] * count
    for box in order:  # grows while it is walked
        # A leaf, or what is made of one leaf alone: a transposed weight, say.
        alone = len(incoming[box]) <= 1
        is_sunk[box] = alone and all(is_sunk[source] for source in incoming[box])
        for target in outgoing[box]:
            depth[target] = max(depth[target], depth[box] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                order.append(target)
    rank = list(depth)
    for box in reversed(order):
        if outgoing[box]:
            height[box] = max(height[target] for target in outgoing[box]) + 1
            if is_sunk[box]:
                rank[box] = min(rank[target] for target in outgoing[box]) - 1
    return rank, depth, height


def _build_grid(
    sizes: Sequence[tuple[float, float]], links: list[tuple[int, int]]
) -> tuple[Grid, list[list[int]]]:
    """Return the rows, and for each link the places it passes through."""
    rank, depth, height = _rank(len(sizes), links)
    rows: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for box, row in enumerate(rank):
        rows[row].append(box)
    grid = Grid(rows, [size[0] for size in sizes], list(rank), depth, height)
    grid.above = [[] for _ in sizes]
    grid.below = [[] for _ in sizes]
    chains: list[list[int]] = []
    for source, target in links:
        between = range(rank[source] + 1, rank[target])
        chain = [source]
        if len(between) <= _LONGEST:
            chain += [_add_place(grid, row, source, target) for row in between]
        chain.append(target)
        for upper, lower in pairwise(chain):
            grid.below[upper].append(lower)
            grid.above[lower].append(upper)
        chains.append(chain)
    return grid, chains


def _add_place(grid: Grid, row: int, source: int, target: int) -> int:
    number = len(grid.row_of)
    grid.depth.append(grid.depth[source] + row - grid.row_of[source])
    grid.height.append(grid.height[target] + grid.row_of[target] - row)
    grid.rows[row].append(number)
    grid.row_of.append(row)
    grid.widths.append(0.0)
    grid.above.append([])
    grid.below.append([])
    return number


def _order(grid: Grid) -> None:
    """Sort every row by the mean place of its neighbours; keep the best sweep."""
    place = [0.0] * len(grid.row_of)
    _renumber(grid.rows, place)
    best, fewest = [list(row) for row in grid.rows], _crossings(grid, place)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        near = grid.above if downwards else grid.below
        for row in grid.rows if downwards else reversed(grid.rows):
            means = {
                box: sum(place[other] for other in near[box]) / len(near[box])
                if near[box]
                else place[box]
                for box in row
            }
            row.sort(key=means.__getitem__)
            _renumber([row], place)
        count = _crossings(grid, place)
        if count < fewest:
            best, fewest = [list(row) for row in grid.rows], count
    grid.rows = best


def _renumber(rows: list[list[int]], place: list[float]) -> None:
    for row in rows:
        # Relative places: a row of 2 beside a row of 9 spreads over the same width.
        for number, box in enumerate(row):
            place[box] = (number + 0.5) / len(row)


def _crossings(grid: Grid, place: list[float]) -> int:
    count = 0
    for row in grid.rows:
        ends = sorted(
            (place[box], place[other]) for box in row for other in grid.below[box]
        )
        count += _inversions([end for _, end in ends])
    return count


def _inversions(values: list[float]) -> int:
    """Count the pairs in the wrong order, while merging halves."""
    if len(values) < 2:
        return 0
    half = len(values) // 2
    left, right = values[:half], values[half:]
    count = _inversions(left) + _inversions(right)
    left.sort()
    right.sort()
    taken = 0
    for value in right:
        while taken < len(left) and left[taken] <= value:
            taken += 1
        count += len(left) - taken
    return count
