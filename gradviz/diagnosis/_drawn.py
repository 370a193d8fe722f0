"""What stands beside a graph: places, tensors and edges of nodes of kind "cut"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz import ir
from gradviz.diagnosis.attach import with_places
from gradviz.program import History, RawSite, Value


def with_sites(
    snapshot: ir.Snapshot, history: History, sites: Iterable[RawSite | None]
) -> tuple[ir.Snapshot, dict[RawSite | None, int | None]]:
    """Return the snapshot with these places of a log added, and the row of each."""
    places, known = history.places, [each for each in sites if each is not None]
    found = [places.site(each) for each in known]  # puts their sources into the table
    snapshot, numbers = with_places(snapshot, found, places.table.sources())
    return snapshot, {None: None, **dict(zip(known, numbers, strict=True))}


def tensor_of(value: Value, name: str | None = None) -> ir.TensorMeta:
    """Return what a value of a log tells of its tensor."""
    return ir.TensorMeta(
        value.shape,
        value.strides,
        value.offset,
        value.dtype,
        value.device,
        version=value.version,
        requires_grad=value.requires_grad,
        is_view=value.is_view,
        name=name,
    )


def edges_of(
    snapshot: ir.Snapshot,
    place: int,
    sources: Iterable[tuple[int, int]],
    users: Iterable[tuple[int, int]],
    given: int | None,
) -> Iterator[ir.Edge]:
    """Yield the edges of a node: from rows and outputs, and to rows and inputs.

    ``given`` is the row of the tensor that the users took.
    """
    for number, (row, output) in enumerate(sources):
        made = snapshot.nodes[row].outputs
        tensor = made[output] if output < len(made) else None
        yield ir.Edge(row, output, place, number, tensor, kind="cut")
    for row, position in users:
        yield ir.Edge(place, 0, row, position, given, kind="cut")
