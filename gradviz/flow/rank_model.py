"""Whether processes train one model: of equal sizes, by the same lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod

from gradviz.diagnosis import rank_causes as causes
from gradviz.flow.rank_told import MOST_TOLD, Told, finding_of
from gradviz.flow.rank_words import layers_text, named_ranks, sentence, the_others
from gradviz.flow.ranks import OpCall, Ranks, Record, Shape
from gradviz.text.words import clean, counted

_PASSES = 4  # whose graphs a recording keeps, if nobody asks for more


def shapes(ranks: Ranks) -> Iterator[Told]:
    """Yield parameters that are not of one shape, by the processes that differ."""
    columns: dict[str, dict[int, Shape]] = {}
    for record in ranks.records:
        for name, shape in zip(record.layers, record.shapes, strict=True):
            columns.setdefault(name, {})[record.rank] = shape
    found: dict[tuple[int, ...], list[str]] = {}
    usual: dict[str, Shape] = {}
    for name, shapes in columns.items():
        most = usual[name] = _usual(Counter(shapes.values()))
        odd = tuple(rank for rank, each in shapes.items() if not _alike(each, most))
        if odd:
            found.setdefault(odd, []).append(name)
    for odd, names in [*found.items()][:MOST_TOLD]:
        own = {rank: _shape_text(columns[names[0]][rank]) for rank in odd}
        others = the_others(odd, ranks.ranks)
        yield Told(
            finding_of(
                causes.SHAPES_DIFFER,
                f"{layers_text(names)} {'has' if len(names) == 1 else 'have'} another "
                f"size on {named_ranks(odd)} than on {others}: {own[odd[0]]}, not "
                f"{_shape_text(usual[names[0]])}.",
                "Build the same model on every rank; look for sizes that are taken "
                "from a rank's own data.",
            ),
            odd,
            f"`{clean(names[0], 60)}` of another size",
        )


def _usual(shapes: Counter[Shape]) -> Shape:
    """Return the shape that most agree with; a whole one before a number."""

    def agreed(shape: Shape) -> tuple[int, bool]:
        alike = (times for each, times in shapes.items() if _alike(each, shape))
        return sum(alike), not isinstance(shape, int)

    return max(shapes, key=agreed)


def _alike(one: Shape, other: Shape) -> bool:
    """Tell whether two shapes may be the same: of some, only the elements are known."""
    if isinstance(one, int) or isinstance(other, int):
        return _elements(one) == _elements(other)
    return one == other


def _elements(shape: Shape) -> int:
    return shape if isinstance(shape, int) else prod(shape)


def _shape_text(shape: Shape) -> str:
    one_number = isinstance(shape, int) or len(shape) == 1
    return counted(_elements(shape), "element") if one_number else str(shape)


def paths(ranks: Ranks) -> Iterator[Told]:
    """Yield ranks whose recorded graphs are of other operations, with the first line.

    The graphs are of the last passes that were looked at, so they are compared where
    these are the same ones.
    """
    whole = [record for record in ranks.records if record.calls and not record.error]
    if not whole:
        return
    most = Counter(map(_last_passes, whole)).most_common(1)[0][0]
    alike = [record for record in whole if _last_passes(record) == most]
    usual = Counter(record.calls for record in alike).most_common(1)[0][0]
    found: dict[tuple[OpCall | None, OpCall | None, int], list[Record]] = {}
    for record in alike:
        if record.calls != usual:
            at = _first_difference(record.calls, usual)
            own, theirs = _at(record.calls, at), _at(usual, at)
            found.setdefault((own, theirs, at), []).append(record)
    for (own, theirs, at), records in [*found.items()][:MOST_TOLD]:
        odd = tuple(record.rank for record in records)
        verb = "computes" if len(odd) == 1 else "compute"
        yield Told(
            finding_of(
                causes.PATHS_DIFFER,
                f"{sentence(named_ranks(odd))} {verb} something else than "
                f"{the_others(odd, [r.rank for r in alike])}: first {_call_text(own)}, "
                f"where the others have {_call_text(theirs)}.",
                "Look at what decides about this line: the rank, its data, or a random "
                "number.",
            ),
            odd,
            f"another path: {_call_text(own)}",
            None if own is None else (odd[0], at),
        )


def _last_passes(record: Record) -> tuple[int, ...]:
    return record.steps, record.passes, *record.numbers[-_PASSES:]


def _first_difference(a: Sequence[OpCall], b: Sequence[OpCall]) -> int:
    pairs = zip(a, b, strict=False)
    short = min(len(a), len(b))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), short)


def _at(calls: Sequence[OpCall], at: int) -> OpCall | None:
    return calls[at] if at < len(calls) else None


def _call_text(call: OpCall | None) -> str:
    if call is None:
        return "nothing more"
    name, file, line = call
    place = f" in {clean(file, 60)}:{line}" if line else ""
    return f"`{clean(name, 60)}`{place}"
