"""Which thumbnails a snapshot keeps: what the user names, and some of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gradviz import ir
from gradviz._capture.recorder.raw import RawNode, RawScope, RawStatistics, Recording
from gradviz._capture.statistics.thumbnails import Sample

MOST = 480
"""Thumbnails that a snapshot keeps besides those that the user names."""

MOST_PIXELS = 160_000
"""Pixels of these together, which are about a byte each in a page."""

_BUDGET = (
    "Thumbnails are kept of {kept:,} of the {all:,} values and gradients that could "
    "have one: the budget is {most} thumbnails and {pixels:,} pixels. `keep=` of "
    "`record()` and `--keep` of `gradviz run` name others."
)
_NONE_LIKE = (
    "Nothing with a thumbnail is called like {pattern!r}, which was to be kept."
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    statistics: RawStatistics
    sample: Sample
    rank: int
    named: frozenset[str]  # patterns that name it


def thumbnails_of(
    recording: Recording, rows: Mapping[int, int]
) -> tuple[ir.Thumbnail, ...]:
    """Return the thumbnails to keep; a note says where the budget ran out.

    ``rows`` are those of the statistics, by the ``id`` of the raw.
    """
    keep = recording.keep
    if not keep.on or not recording.samples:
        return ()
    found = _candidates(recording, rows)
    named = [each for each in found if each.named]
    others = sorted(
        (each for each in found if not each.named), key=lambda each: each.rank
    )
    made = list(_drawn(named, rows))
    left, count = MOST_PIXELS, 0
    for each in others[:MOST]:
        for row in _drawn([each], rows):
            if len(row.pixels) <= left:
                made.append(row)
                left -= len(row.pixels)
                count += 1
    if count < len(others):
        recording.routine.append(
            _BUDGET.format(
                kept=len(made), all=len(found), most=MOST, pixels=MOST_PIXELS
            )
        )
    seen = frozenset[str]().union(*[each.named for each in named])
    recording.notes += [
        _NONE_LIKE.format(pattern=each) for each in keep.patterns if each not in seen
    ]
    return tuple(sorted(made, key=lambda each: each.statistics))


def _drawn(
    candidates: Iterable[_Candidate], rows: Mapping[int, int]
) -> Iterator[ir.Thumbnail]:
    for each in candidates:
        drawn = each.sample.draw()
        if drawn is not None:
            yield ir.Thumbnail(rows[id(each.statistics)], *drawn)


def _candidates(recording: Recording, rows: Mapping[int, int]) -> list[_Candidate]:
    """Return what has a thumbnail, the newest nodes first, each once."""
    found: dict[int, _Candidate] = {}
    names = _Names(recording.keep.patterns)
    for raw in reversed(recording.nodes):
        values = [each.statistics for each in (*raw.outputs, *raw.inputs)]
        ranks = (2 if raw.kind == "view" else 0, 3 if raw.kind == "view" else 1)
        for rank, column in zip(ranks, (values, raw.grad_outputs), strict=True):
            for each in column:
                sample = recording.samples.get(id(each))
                if each is None or sample is None or id(each) not in rows:
                    continue
                named, known = names.of(raw), found.get(id(each))
                if known is not None:  # a gradient, on its way through nodes
                    rank, named = min(rank, known.rank), named | known.named
                found[id(each)] = _Candidate(each, sample, rank, named)
    return list(found.values())


class _Names:
    """Tells which patterns name a node, by its module, op or tensors."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = patterns
        self._of_scopes: dict[int, frozenset[str]] = {}

    def of(self, raw: RawNode) -> frozenset[str]:
        if not self._patterns:
            return frozenset()
        names = [raw.call, raw.name, *(each.name or "" for each in raw.outputs)]
        return self._in_scope(raw.scope) | self._like(names)

    def _in_scope(self, scope: RawScope | None) -> frozenset[str]:
        if scope is None:
            return frozenset()
        found = self._of_scopes.get(id(scope))
        if found is None:
            path = _path(scope)
            names = [path, path.partition(".")[2]]  # with the model's name, or without
            found = self._in_scope(scope.parent) | self._like(names)
            self._of_scopes[id(scope)] = found
        return found

    def _like(self, names: Iterable[str]) -> frozenset[str]:
        known = [name for name in names if name]
        return frozenset(
            pattern
            for pattern in self._patterns
            if any(fnmatchcase(name, pattern) for name in known)
        )


def _path(scope: RawScope | None) -> str:
    parts: list[str] = []
    while scope is not None:
        parts.append(scope.name)
        scope = scope.parent
    return ".".join(reversed(parts))
