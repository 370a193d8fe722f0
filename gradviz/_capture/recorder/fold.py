"""Folds a graph that is too large to draw: all that one line made becomes one row.

The first and the last nodes and the leaves stay as they are. Of those between, all that
one place made become one row, which stands for so many backward functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

N = TypeVar("N")

MOST_DRAWN = 20_000
"""Nodes of one graph that are drawn one by one; a page of so many opens in a second."""

Behind = list[tuple[int, int] | None]
"""Per input of a row: the row that made it, and which of its outputs it was."""

_FOLDED = (
    "The graph has {total:,} nodes, more than a page can show. {inside:,} of them are "
    'drawn as {rows} for all that one place made ("×{most:,}"), without the edges '
    "from one repetition to the next; the first and last nodes and the leaves are "
    "whole. To see every node, record or capture a smaller part: fewer repetitions."
)


@dataclass(slots=True)
class Folded(Generic[N]):
    """The rows that are left: leaves, then operations as they were made."""

    rows: list[N]  # where a row stands for several, the last of them
    behind: list[Behind]
    counts: dict[int, int]  # how many, by the row
    row_of: dict[N, int]  # of every node, leaves too
    total: int  # nodes of the graph

    @property
    def note(self) -> str:
        """Say what was folded, and how to see more."""
        return note_of(self.total, list(self.counts.values()))


def note_of(total: int, counts: Sequence[int]) -> str:
    """Say that rows of a graph of so many nodes stand for several each."""
    rows = "1 row" if len(counts) == 1 else f"{len(counts):,} rows, each"
    return _FOLDED.format(
        total=total, inside=sum(counts), rows=rows, most=max(counts, default=0)
    )


def fold(
    made: Sequence[N],
    leaves: Sequence[N],
    behind: Callable[[N], Iterable[tuple[N | None, int]]],
    places: Sequence[Callable[[N], Hashable]],
    most: int,
    row_of: dict[N, int],
) -> Folded[N]:
    """Fold operations, oldest first, and leaves to about ``most`` rows.

    ``behind`` tells who made the inputs of a node. ``places`` tell where a node was
    made, the most exact first: the first that leaves few enough is taken. ``row_of``
    is filled with the row of each node; a walk has such a table at hand.

    >>> chain = ["x", "a0", "a1", "a2", "a3", "end"]
    >>> def behind(node):
    ...     at = chain.index(node)
    ...     return [(chain[at - 1], 0)] if at else []
    >>> found = fold(chain[1:], ["x"], behind, [lambda node: node[0]], 4, {})
    >>> found.rows, found.counts, found.behind[-1]
    (['x', 'a0', 'a1', 'a3', 'end'], {3: 2}, [(3, 0)])
    """
    ends = max(1, most // 4)
    shown = list(leaves[:ends])
    head, tail = max(1, most // 2 - most // 20), ends
    between = made[head : max(head, len(made) - tail)]
    place = _place(between, places, most - head - tail - len(shown))
    rows: list[N] = []
    sizes: list[int] = []
    spread = _Rows(rows, sizes, row_of)
    for leaf in shown:
        spread.add(leaf)
    spread.together(leaves[ends:], lambda _leaf: None)
    for node in made[:head]:
        spread.add(node)
    spread.together(between, place)
    for node in made[head + len(between) :]:
        spread.add(node)
    counts = {row: size for row, size in enumerate(sizes) if size > 1}
    return Folded(
        rows,
        _edges(made, behind, row_of, rows, counts),
        counts,
        row_of,
        len(made) + len(leaves),
    )


@dataclass(slots=True)
class _Rows(Generic[N]):
    """The rows while they are given out."""

    rows: list[N]
    sizes: list[int]
    row_of: dict[N, int]

    def add(self, node: N) -> int:
        row = self.row_of[node] = len(self.rows)
        self.rows.append(node)
        self.sizes.append(1)
        return row

    def together(self, nodes: Sequence[N], place: Callable[[N], Hashable]) -> None:
        """Give those of one place one row.

        Rows are in the order of the last of each: who uses that one comes later, so
        that all rows can be reached from the end though ways back are left out.
        """
        last: dict[Hashable, N] = {}
        for node in nodes:
            key = place(node)
            last.pop(key, None)
            last[key] = node
        known = {key: self.add(node) for key, node in last.items()}
        for row in known.values():
            self.sizes[row] = 0
        for node in nodes:
            row = self.row_of[node] = known[place(node)]
            self.sizes[row] += 1


def _place(
    nodes: Sequence[N], places: Sequence[Callable[[N], Hashable]], most: int
) -> Callable[[N], Hashable]:
    """Return the most exact way to tell places apart that leaves few enough."""
    for place in places:
        known: set[Hashable] = set()
        for node in nodes:
            known.add(place(node))
            if len(known) > most:
                break
        else:
            return place
    return lambda _node: None


def _edges(
    made: Sequence[N],
    behind: Callable[[N], Iterable[tuple[N | None, int]]],
    row_of: dict[N, int],
    rows: Sequence[N],
    counts: dict[int, int],
) -> list[Behind]:
    """Return what is behind each row, each way between two rows once.

    Ways back are left out: a picture, and what is said of it, has no cycles.
    """
    found: list[Behind] = [[] for _ in rows]
    ways: set[tuple[int, int]] = set()
    for node in made:
        row = row_of[node]
        several = row in counts
        inputs = found[row]
        for producer, output in behind(node):
            at = None if producer is None else row_of.get(producer)
            if at is None or at >= row:
                if not several:
                    inputs.append(None)
            elif not several:
                inputs.append((at, output))
            elif (way := (row, at)) not in ways:
                ways.add(way)
                inputs.append((at, output))
    return found
