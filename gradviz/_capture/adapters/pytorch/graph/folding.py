"""Folds a graph of PyTorch that is too large to draw, see ``recorder/fold.py``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from gradviz._capture.adapters.pytorch.graph.deep_graphs import make_freeable
from gradviz._capture.adapters.pytorch.saved_attributes import NO_SEQUENCE
from gradviz._capture.recorder import fold
from gradviz._capture.recorder.fold import Folded


def folded_graph(
    roots: Iterable[Any], place: Callable[[Any], Hashable] = type
) -> Folded[Any] | None:
    """Return the rows of the graph behind nodes; None where it can be drawn whole.

    ``place`` tells where a node was made, as far as that is known; else nodes of one
    class are told of together.
    """
    numbers: dict[Any, int] = dict.fromkeys(roots, 0)
    found = list(numbers)
    for fn in found:
        for behind, _ in fn.next_functions:
            if behind is not None and behind not in numbers:
                numbers[behind] = 0
                found.append(behind)
    if len(found) <= fold.MOST_DRAWN:
        return None
    made: list[Any] = []
    leaves: list[Any] = []
    for fn in found:
        (leaves if fn._sequence_nr() == NO_SEQUENCE else made).append(fn)
    found.clear()
    made.sort(key=_sequence)
    make_freeable(made, numbers)
    places = (place, type)
    return fold.fold(made, leaves, _behind, places, fold.MOST_DRAWN, numbers)


def _sequence(fn: Any) -> int:
    return fn._sequence_nr()


def _behind(fn: Any) -> Iterable[tuple[Any, int]]:
    return fn.next_functions
