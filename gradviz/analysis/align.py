"""Which items of two sequences correspond: a diff of keys in nearly linear time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

_CELLS = 40_000  # of the table for a stretch without anything unique

Pair = tuple[int, int]
Keys = Sequence[Hashable]


def align(a: Sequence[Keys], b: Sequence[Keys]) -> list[Pair]:
    """Pair the rows of two sequences, in order in both.

    Each row has several keys, the strictest first; rows are paired only where their
    last keys are equal. As people do, it trusts what is unique in both stretches first
    (patience), then looks between. What remains is matched by a longest common
    subsequence where that is short, else by count.

    >>> align([["a"], ["b"], ["c"]], [["a"], ["x"], ["c"]])
    [(0, 0), (2, 2)]
    """
    found: list[Pair] = []
    waiting = [(0, len(a), 0, len(b))]
    while waiting:
        a0, a1, b0, b1 = waiting.pop()
        while a0 < a1 and b0 < b1 and a[a0][-1] == b[b0][-1]:
            found.append((a0, b0))
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1][-1] == b[b1 - 1][-1]:
            a1, b1 = a1 - 1, b1 - 1
            found.append((a1, b1))
        if a0 == a1 or b0 == b1:
            continue
        anchors = _anchors(a, b, range(a0, a1), range(b0, b1))
        if not anchors:
            found += _plain(a, b, range(a0, a1), range(b0, b1))
            continue
        found += anchors
        ends = [*anchors, (a1, b1)]
        for (from_a, from_b), (to_a, to_b) in zip(
            [(a0 - 1, b0 - 1), *anchors], ends, strict=True
        ):
            waiting.append((from_a + 1, to_a, from_b + 1, to_b))
    return sorted(found)


def _anchors(
    a: Sequence[Keys], b: Sequence[Keys], in_a: range, in_b: range
) -> list[Pair]:
    """Pair what is unique on both sides by the strictest key that finds anything."""
    for level in range(len(a[in_a.start])):
        first, second = _unique(a, in_a, level), _unique(b, in_b, level)
        pairs = [
            (row, second[key])
            for key, row in first.items()
            if key in second and a[row][-1] == b[second[key]][-1]
        ]
        if pairs:
            return _increasing(sorted(pairs))
    return []


def _unique(rows: Sequence[Keys], stretch: range, level: int) -> dict[Hashable, int]:
    counts = Counter(rows[row][level] for row in stretch)
    return {rows[row][level]: row for row in stretch if counts[rows[row][level]] == 1}


def _plain(
    a: Sequence[Keys], b: Sequence[Keys], in_a: range, in_b: range
) -> list[Pair]:
    if len(in_a) * len(in_b) <= _CELLS:
        return list(_common(a, b, in_a, in_b))
    places: dict[Hashable, list[int]] = defaultdict(list)
    for row in reversed(in_b):
        places[b[row][-1]].append(row)
    pairs = [(row, places[a[row][-1]].pop()) for row in in_a if places[a[row][-1]]]
    return _increasing(pairs)


def _common(
    a: Sequence[Keys], b: Sequence[Keys], in_a: range, in_b: range
) -> Iterator[Pair]:
    """Yield a longest common subsequence, by the table of the textbook."""
    width = len(in_b) + 1
    best = [[0] * width for _ in range(len(in_a) + 1)]
    for i in range(len(in_a) - 1, -1, -1):
        for j in range(len(in_b) - 1, -1, -1):
            same = a[in_a[i]][-1] == b[in_b[j]][-1]
            skipped = max(best[i + 1][j], best[i][j + 1])
            best[i][j] = best[i + 1][j + 1] + 1 if same else skipped
    i = j = 0
    while i < len(in_a) and j < len(in_b):
        if a[in_a[i]][-1] == b[in_b[j]][-1]:
            yield in_a[i], in_b[j]
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1


def _increasing(pairs: list[Pair]) -> list[Pair]:
    """Return the longest run of sorted pairs that rises in the second number too."""
    tails: list[int] = []  # the smallest end of a run of each length
    ends: list[int] = []  # which pair that is
    before: list[int] = []
    for at, (_, second) in enumerate(pairs):
        length = bisect_left(tails, second)
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(second)
            ends.append(at)
        else:
            tails[length], ends[length] = second, at
    run: list[Pair] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]
