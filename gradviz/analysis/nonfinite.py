"""Where NaN and Inf are born, passed on and healed, by a snapshot's statistics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gradviz import ir
from gradviz.text import words

Fate = Literal["birth", "propagated", "healed"]
Kind = Literal["NaN", "Inf"]


@dataclass(frozen=True, slots=True)
class BadRow:
    """NaN or Inf at one node: in its value, or in the gradient it sends back."""

    node: int
    op: str
    where: Literal["value", "gradient"]
    kind: Kind
    fate: Fate
    count: int  # how many elements; before healing, where it healed
    first: tuple[int, ...] | None  # index of the first bad element
    cause: str  # "from sqrt", "0 * Inf and the like"; "" where nothing more is known
    place: str


_COUNTS: dict[Kind, str] = {"NaN": "nans", "Inf": "infs"}


@dataclass(frozen=True, slots=True)
class _Passage:
    """What went into a node and what came out, forward or backward."""

    node: int
    where: Literal["value", "gradient"]
    into: tuple[ir.Statistics, ...]
    out: tuple[ir.Statistics, ...]
    source: str  # "from sqrt": who handed in what was bad
    born_of: str  # why something may be born of clean inputs; "" where unknown


def bad_rows(snapshot: ir.Snapshot) -> Iterable[BadRow]:
    """Yield values in the order of the forward pass, then gradients, last first."""
    incoming: dict[int, list[ir.Edge]] = defaultdict(list)
    outgoing: dict[int, list[ir.Edge]] = defaultdict(list)
    for edge in snapshot.edges:
        if edge.kind == "data":
            incoming[edge.target].append(edge)
            outgoing[edge.source].append(edge)
    order = sorted(
        range(len(snapshot.nodes)),
        key=lambda node: (snapshot.nodes[node].sequence or -1, node),
    )
    for node in order:
        yield from _fates(snapshot, _forward(snapshot, node, incoming[node]))
    received = words.gradients(snapshot)
    for node in reversed(order):
        yield from _fates(
            snapshot,
            _backward(snapshot, node, received[node], incoming[node], outgoing[node]),
        )


def _forward(snapshot: ir.Snapshot, number: int, incoming: list[ir.Edge]) -> _Passage:
    node = snapshot.nodes[number]
    edges = {edge.tensor: edge.source for edge in incoming if edge.tensor is not None}
    inputs = node.inputs or tuple(edges)
    bad = [tensor for tensor in inputs if _is_bad(_of(snapshot, tensor))]
    names = [
        words.label(snapshot.nodes[edges[tensor]])
        if tensor in edges
        else snapshot.tensors[tensor].name or "an input"
        for tensor in bad
    ]
    into = _known(_of(snapshot, tensor) for tensor in inputs)
    out = _known(_of(snapshot, tensor) for tensor in node.outputs)
    if node.kind == "view" and not bad:
        # A view makes no values: its source turned bad after it was last looked at.
        into = out
        names = [words.label(snapshot.nodes[edge.source]) for edge in incoming]
    return _Passage(
        number,
        "value",
        into,
        out,
        _from(names),
        "it came in as a leaf" if node.kind in ("accumulate", "leaf") else "",
    )


def _backward(
    snapshot: ir.Snapshot,
    number: int,
    received: list[ir.Statistics],
    incoming: list[ir.Edge],
    outgoing: list[ir.Edge],
) -> _Passage:
    node = snapshot.nodes[number]
    back = _known(_row(snapshot, edge.gradient) for edge in incoming)
    if node.kind in ("accumulate", "leaf"):
        back = tuple(received)  # what arrives stays, in .grad
    names = [
        words.label(snapshot.nodes[edge.target])
        for edge in outgoing
        if _is_bad(_row(snapshot, edge.gradient))
    ]
    values = _known(_of(snapshot, each) for each in (*node.inputs, *node.outputs))
    return _Passage(
        number,
        "gradient",
        tuple(received),
        back,
        _from(names),
        "its value was bad before" if any(map(_is_bad, values)) else "",
    )


def _fates(snapshot: ir.Snapshot, passage: _Passage) -> Iterable[BadRow]:
    if not any(map(_is_bad, (*passage.into, *passage.out))):
        return
    node = snapshot.nodes[passage.node]
    kinds: tuple[Kind, Kind] = ("NaN", "Inf")
    for kind in kinds:
        before, after = _count(passage.into, kind), _count(passage.out, kind)
        fate = _fate(passage, before, after)
        if fate is None:
            continue
        cause = passage.source if before else passage.born_of
        if fate == "birth" and not before and any(map(_is_bad, passage.into)):
            cause = f"of {kinds[kind == 'NaN']}, {passage.source}".rstrip(", ")
        yield BadRow(
            node=passage.node,
            op=words.label(node),
            where=passage.where,
            kind=kind,
            fate=fate,
            count=after or before,
            first=_first(passage.out if after else passage.into, kind),
            cause=cause,
            place=words.place(snapshot, node),
        )


def _fate(passage: _Passage, before: int, after: int) -> Fate | None:
    if after:
        return "propagated" if before else "birth"
    if not before or not passage.out or any(map(_is_bad, passage.out)):
        return None  # nothing there, nothing known, or it turned into the other kind
    return "healed"


def _count(stats: tuple[ir.Statistics, ...], kind: Kind) -> int:
    return sum(getattr(each, _COUNTS[kind]) for each in stats)


def _first(stats: tuple[ir.Statistics, ...], kind: Kind) -> tuple[int, ...] | None:
    return next((s.first_bad for s in stats if getattr(s, _COUNTS[kind])), None)


def _is_bad(stats: ir.Statistics | None) -> bool:
    return stats is not None and stats.nans + stats.infs > 0


def _known(stats: Iterable[ir.Statistics | None]) -> tuple[ir.Statistics, ...]:
    return tuple(each for each in stats if each is not None)


def _row(snapshot: ir.Snapshot, row: int | None) -> ir.Statistics | None:
    return None if row is None else snapshot.statistics[row]


def _of(snapshot: ir.Snapshot, tensor: int) -> ir.Statistics | None:
    return _row(snapshot, snapshot.tensors[tensor].statistics)


def _from(names: list[str]) -> str:
    different = list(dict.fromkeys(names))
    more = "" if len(different) <= 2 else f" and {len(different) - 2} more"
    return f"from {', '.join(different[:2])}{more}" if different else ""
