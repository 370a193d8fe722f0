"""Turn a recording into a snapshot: number the raw records and fill the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from gradviz import ir
from gradviz._capture.names.scopes import name_tops
from gradviz._capture.recorder.differentiation_order import orders
from gradviz._capture.recorder.gradient_flow import flow_tables
from gradviz._capture.recorder.pending_nodes import to_come
from gradviz._capture.recorder.raw import (
    RawEvent,
    RawNode,
    RawSaved,
    RawScope,
    RawStatistics,
    RawStorage,
    RawTensor,
    Recording,
    as_record,
)
from gradviz._capture.recorder.thumbnails import thumbnails_of
from gradviz.program.sources import SiteTable

T = TypeVar("T")


class _Table(Generic[T]):
    """Numbers objects in the order in which they are first asked for."""

    def __init__(self) -> None:
        self.rows: list[T] = []
        self.index: dict[int, int] = {}  # by id

    def add(self, row: T) -> int:
        index = self.index.get(id(row))
        if index is None:
            index = self.index[id(row)] = len(self.rows)
            self.rows.append(row)
        return index

    def maybe(self, row: T | None) -> int | None:
        return None if row is None else self.add(row)


class _Assembly:
    """The tables under construction."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.node_numbers = {id(raw): i for i, raw in enumerate(recording.nodes)}
        self.tensors: _Table[RawTensor] = _Table()
        self.storages: _Table[RawStorage] = _Table()
        self.scopes: _Table[RawScope] = _Table()
        self.statistics: _Table[RawStatistics] = _Table()
        self.sites = SiteTable()
        self.to_come = to_come(recording)

    def scope(self, scope: RawScope | None) -> int | None:
        if scope is None:
            return None
        self.scope(scope.parent)  # parents first, so that the view can build the tree
        return self.scopes.add(scope)

    def op_node(
        self, raw: RawNode, iterations: dict[int, int], orders: dict[int, int]
    ) -> ir.OpNode:
        stale = any(_stale(raw, saved) for saved in raw.saved)
        flags = [
            *(["freed"] if raw.freed else []),
            *(["modified"] if stale and self.to_come(raw) else []),
        ]
        return ir.OpNode(
            name=raw.name,
            kind=raw.kind,
            call=raw.call,
            arguments=raw.arguments,
            inputs=tuple(self.tensors.add(t) for t in raw.inputs),
            outputs=tuple(self.tensors.add(t) for t in raw.outputs),
            scope=self.scope(raw.scope),
            iteration=iterations.get(id(raw)),
            site=self.sites.add(raw.site),
            stack=tuple(i for s in raw.stack if (i := self.sites.add(s)) is not None),
            sequence=raw.sequence,
            formula=raw.formula,
            hooks=tuple(hook.name for hook in raw.hooks),
            hook_sites=self.sites.definitions(hook.code for hook in raw.hooks),
            flags=tuple(flags),
            grad_outputs=tuple(
                -1 if s is None else self.statistics.add(s) for s in raw.grad_outputs
            ),
            elapsed_ns=raw.elapsed_ns,
            order=orders.get(id(raw), 0),
            count=raw.count,
        )

    def edges(self) -> tuple[ir.Edge, ...]:
        return tuple(
            ir.Edge(
                source=source,
                output=edge.output,
                target=target,
                input=edge.input,
                tensor=self.tensors.maybe(_flowing(edge.producer, edge.output)),
                gradient=self.statistics.maybe(edge.gradient),
            )
            for target, raw in enumerate(self.recording.nodes)
            for edge in raw.edges
            if (source := self.known(edge.producer)) is not None
        )

    def saved(self) -> tuple[ir.Saved, ...]:
        return tuple(
            ir.Saved(
                node=number,
                slot=saved.slot,
                tensor=self.tensors.add(saved.tensor),
                version_saved=saved.version,
                version_now=_version_now(raw, saved),
                freed=raw.freed,
                hooked=saved.hooked,
            )
            for number, raw in enumerate(self.recording.nodes)
            for saved in raw.saved
        )

    def event(self, raw: RawEvent) -> ir.Event:
        return ir.Event(
            kind=raw.kind,
            time_ns=raw.time_ns,
            node=self.known(raw.node),
            tensor=self.tensors.maybe(raw.tensor),
            storage=self.storages.maybe(raw.storage),
            statistics=self.statistics.maybe(raw.statistics),
            site=self.sites.add(raw.site),
            scope=self.scope(raw.scope),
            text=raw.text,
            version=raw.version,
            grad=self.statistics.maybe(raw.grad),
        )

    def tensor_meta(self, raw: RawTensor) -> ir.TensorMeta:
        return ir.TensorMeta(
            shape=raw.shape,
            strides=raw.strides,
            offset=raw.offset,
            dtype=raw.dtype,
            device=raw.device,
            storage=self.storages.maybe(raw.storage),
            version=raw.version,
            requires_grad=raw.requires_grad,
            is_leaf=raw.is_leaf,
            is_view=raw.is_view,
            name=raw.name,
            statistics=self.statistics.maybe(raw.statistics),
            holders=raw.holders,
        )

    def writes(self) -> tuple[ir.Write, ...]:
        return tuple(
            ir.Write(
                storage=number,
                version=write.version,
                op=write.op,
                site=self.sites.add(write.site),
                node=self.known(write.node),
            )
            for number, storage in enumerate(self.storages.rows)
            for write in storage.writes
        )

    def known(self, node: RawNode | None) -> int | None:
        """Return the number of a node of this recording; None for one dropped."""
        return None if node is None else self.node_numbers.get(id(node))

    def storage_metas(self, tensors: tuple[ir.TensorMeta, ...]) -> Any:
        aliases: dict[int, list[int]] = {}
        for index, tensor in enumerate(tensors):
            if tensor.storage is not None:
                aliases.setdefault(tensor.storage, []).append(index)
        return tuple(
            ir.StorageMeta(
                nbytes=raw.nbytes,
                device=raw.device,
                itemsize=raw.itemsize,
                version=raw.version,
                tensors=tuple(aliases.get(index, ())),
            )
            for index, raw in enumerate(self.storages.rows)
        )


def assemble(recording: Recording) -> ir.Snapshot:
    """Return the snapshot of a recording."""
    return assemble_with_rows(recording)[0]


def assemble_with_rows(recording: Recording) -> tuple[ir.Snapshot, Mapping[int, int]]:
    """Return the snapshot, and the rows of its statistics by the ``id`` of the raw."""
    build = _Assembly(recording)
    name_tops(recording.nodes)
    iterations = _iterations(recording.nodes)
    derived = orders(recording.nodes, recording.events)
    nodes = tuple(build.op_node(raw, iterations, derived) for raw in recording.nodes)
    edges = build.edges()
    saved = build.saved()
    events = tuple(build.event(raw) for raw in recording.events)
    tensors = tuple(build.tensor_meta(raw) for raw in build.tensors.rows)
    writes = build.writes()
    storages = build.storage_metas(tensors)
    thumbnails = thumbnails_of(recording, build.statistics.index)
    flow = flow_tables(recording, nodes, build.node_numbers, build.statistics.add)
    snapshot = ir.Snapshot(
        producer=recording.producer,
        title=recording.title,
        nodes=nodes,
        edges=edges,
        tensors=tensors,
        saved=saved,
        storages=storages,
        writes=writes,
        statistics=tuple(map(as_record, build.statistics.rows)),
        scopes=tuple(_scope_row(build, scope) for scope in build.scopes.rows),
        sites=tuple(build.sites.rows),
        sources=build.sites.sources(),
        events=events,
        roots=tuple(
            i for raw in recording.roots if (i := build.known(raw)) is not None
        ),
        notes=(*recording.notes, *recording.routine),
        flow_layers=flow.layers,
        flow_steps=flow.steps,
        flow=flow.points,
        thumbnails=thumbnails,
    )
    return snapshot, build.statistics.index


def _scope_row(build: _Assembly, scope: RawScope) -> ir.Scope:
    name = scope.name if scope.call == 1 else f"{scope.name}#{scope.call}"
    above = _path(scope.parent)
    return ir.Scope(
        path=f"{above}.{name}" if above else name,
        name=name,
        kind=scope.kind,
        parent=build.scope(scope.parent),
    )


def _path(scope: RawScope | None) -> str:
    parts: list[str] = []
    while scope is not None:
        call = "" if scope.call == 1 else f"#{scope.call}"
        parts.append(scope.name + call)
        scope = scope.parent
    return ".".join(reversed(parts))


def _flowing(producer: RawNode, output: int) -> RawTensor | None:
    return producer.outputs[output] if output < len(producer.outputs) else None


def _stale(node: RawNode, saved: RawSaved) -> bool:
    return _version_now(node, saved) != saved.version


def _version_now(node: RawNode, saved: RawSaved) -> int:
    """Return the version; for what was released after use, the one it was used at.

    An optimizer step after backward() writes the weights, which harms nobody then.
    """
    storage = saved.tensor.storage
    if storage is None or node.freed:
        return saved.version if saved.found is None else saved.found
    return storage.version


def _iterations(nodes: list[RawNode]) -> dict[int, int]:
    """Number the nodes that one line of one scope made again and again, from 0."""
    places: dict[Any, list[RawNode]] = {}
    for raw in nodes:
        if raw.site is not None:
            code, lasti = raw.site
            place = (id(code), lasti, raw.name, _place(raw.scope))
            places.setdefault(place, []).append(raw)
    numbers: dict[int, int] = {}
    for group in places.values():
        number = 0
        for raw in sorted(group, key=lambda raw: raw.sequence if raw.sequence else 0):
            if len(group) > 1 and raw.count == 1:  # else it is no turn of a loop
                numbers[id(raw)] = number
            number += raw.count
    return numbers


def _place(scope: RawScope | None) -> tuple[str, ...]:
    """Return the scope's path without call numbers: a loop crosses calls."""
    parts: list[str] = []
    while scope is not None:
        parts.append(scope.name)
        scope = scope.parent
    return tuple(parts)
