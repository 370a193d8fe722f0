"""Makes the rows of a snapshot from a look at a finished graph of PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from gradviz import ir
from gradviz._capture.adapters.pytorch.graph.anomaly_stacks import users_lines
from gradviz._capture.adapters.pytorch.graph.columns import GraphColumns, Kept, Result
from gradviz._capture.adapters.pytorch.graph.node_classes import NodeClass
from gradviz._capture.adapters.pytorch.saved_attributes import NO_SEQUENCE
from gradviz._capture.adapters.pytorch.view_strides import (
    Layout,
    contiguous,
    numbers,
    view_call,
    view_layouts,
)
from gradviz._capture.names.tensors import op_name
from gradviz._capture.recorder.fast_records import quick
from gradviz._capture.recorder.from_log import VIEWS
from gradviz.program.sources import SiteTable

_op_node, _edge, _saved_row = quick(ir.OpNode), quick(ir.Edge), quick(ir.Saved)
_tensor_meta, _storage_meta = quick(ir.TensorMeta), quick(ir.StorageMeta)


class TorchRows:
    """The tables under construction."""

    def __init__(self, seen: GraphColumns) -> None:
        self.columns = seen
        self.order = order(seen)
        self.rows = {number: row for row, number in enumerate(self.order)}
        self._tensors: list[ir.TensorMeta] = []
        self._places: dict[int, int] = {}  # place in the look -> row
        self._results: dict[tuple[int, int], int] = {}  # node, output -> row
        self._unseen: dict[Any, ir.TensorMeta] = {}
        self._words: dict[Any, str] = {}
        self._storages = {key: row for row, key in enumerate(seen.storages)}
        self._sites = SiteTable(seen.files)
        self._turns: Counter[Any] = Counter()  # of nodes that one line made

    def snapshot(self, producer: str, title: str, notes: list[str]) -> ir.Snapshot:
        """Return the rows."""
        nodes = tuple([self._node(number) for number in self.order])
        edges, saved = self._edges(), self._saved()
        tensors = tuple(self._tensors)
        return ir.Snapshot(
            producer,
            title,
            nodes=nodes,
            edges=edges,
            tensors=tensors,
            saved=saved,
            storages=self._storage_rows(tensors),
            sites=tuple(self._sites.rows),
            sources=self._sites.sources(),
            roots=tuple([self.rows[number] for number in range(self.columns.roots)]),
            notes=tuple(notes),
        )

    # ---- nodes and edges -----------------------------------------------------------

    def _node(self, number: int) -> ir.OpNode:
        seen = self.columns
        cls, sequence = seen.classes[number], seen.sequences[number]
        outputs, stacks = self._outputs(number, seen.results[number]), seen.stacks
        site, stack, iteration = None, (), None
        if number in stacks:
            lines = [self._sites.line(*each) for each in users_lines(stacks[number])]
            site, stack = (lines[0], tuple(lines[1:])) if lines else (None, ())
            iteration = self._turns[cls.name, site]
            self._turns[cls.name, site] += 1
        if cls.leaf:
            call = self._tensors[outputs[0]].name or ""
        else:
            call = op_name(cls.name)
        hooks = seen.hooks.get(number, ())
        return _op_node(
            cls.name,
            _kind(cls),
            call,
            outputs=outputs,
            iteration=iteration,
            site=site,
            stack=stack,
            sequence=None if sequence == NO_SEQUENCE else sequence,
            formula=cls.formula,
            hooks=tuple([hook.name for hook in hooks]),
            hook_sites=self._sites.definitions(hook.code for hook in hooks),
            flags=self._flags(number),
            count=seen.counts.get(number, 1),
        )

    def _flags(self, number: int) -> tuple[str, ...]:
        if number in self.columns.freed:
            return ("freed",)
        return _modified(self.columns.kept_by(number)) if self.columns.odd else ()

    def _edges(self) -> tuple[ir.Edge, ...]:
        rows, results = self.rows, self._results
        return tuple(
            [
                _edge(rows[edge[0]], edge[1], target, place, results.get(edge))
                for target, number in enumerate(self.order)
                for place, edge in enumerate(self.columns.edges_of(number))
                if edge is not None
            ]
        )

    def _saved(self) -> tuple[ir.Saved, ...]:
        return tuple(
            [
                _saved_row(row, slot, self._tensor(place), version, now, False, hooked)
                for row, number in enumerate(self.order)
                for slot, place, version, now, hooked in self.columns.kept_by(number)
            ]
        )

    # ---- tensors -------------------------------------------------------------------

    def _outputs(self, number: int, results: Sequence[Result]) -> tuple[int, ...]:
        known = self.columns.outputs
        places = [known.get((number, output)) for output in range(len(results))]
        laid = self._laid_out(number) if None in places else ()
        rows: list[int] = []
        for output, place in enumerate(places):
            if place is not None:
                row = self._tensor(place)
            elif output < len(laid):
                row = self._add(laid[output])
            else:
                row = self._add(self._unseen_result(results[output]))
            self._results[number, output] = row
            rows.append(row)
        return tuple(rows)

    def _tensor(self, place: int) -> int:
        row = self._places.get(place)
        if row is None:
            row = self._places[place] = len(self._tensors)
            self._tensors.append(self._meta(place))
        return row

    def _add(self, meta: ir.TensorMeta) -> int:
        self._tensors.append(meta)
        return len(self._tensors) - 1

    def _meta(self, place: int) -> ir.TensorMeta:
        facts = self.columns.tensors[place]
        shape, strides, offset, dtype, device, storage, version, *_ = facts
        return _tensor_meta(
            numbers(shape),
            numbers(strides),
            offset,
            self._word(dtype),
            self._word(device),
            self._storages.get(storage),
            version,
            facts[7],
            facts[8],
            facts[9],
            self.columns.names.get(place),
        )

    def _unseen_result(self, result: Any) -> ir.TensorMeta:
        """Describe a result from what its node knows; equal ones are one object."""
        meta = self._unseen.get(result)
        if meta is None:
            sizes, dtype, device = result
            shape = numbers(sizes)
            meta = self._unseen[result] = _tensor_meta(
                shape,
                tuple(contiguous(shape)),
                0,
                self._word(dtype),
                self._word(device),
                requires_grad=True,
            )
        return meta

    def _laid_out(self, number: int) -> list[ir.TensorMeta]:
        """Find out how results lie in memory that nobody saw, where they are views."""
        arguments = self.columns.views.get(number)
        if arguments is None:
            return []
        cls, results = self.columns.classes[number], self.columns.results[number]
        edge = self.columns.edges_of(number)[0]
        at = None if edge is None else self._results.get(edge)
        if at is None:
            return []
        source = self._tensors[at]
        if len(source.strides) != len(source.shape):  # wrapped by functorch
            return []
        layout = Layout(source.shape, source.strides, source.offset)
        call = view_call(cls.name, arguments)
        shapes = [numbers(result[0]) for result in results]
        return [
            _tensor_meta(
                found.shape,
                found.strides,
                found.offset,
                self._word(result[1]),
                self._word(result[2]),
                source.storage,
                source.version,
                requires_grad=True,
                is_view=True,
            )
            for found, result in zip(
                view_layouts(call, layout, shapes), results, strict=False
            )
        ]

    def _word(self, thing: Any) -> str:
        word = self._words.get(thing)
        if word is None:
            word = self._words[thing] = str(thing).removeprefix("torch.")
        return word

    def _storage_rows(
        self, tensors: tuple[ir.TensorMeta, ...]
    ) -> tuple[ir.StorageMeta, ...]:
        devices, aliases = [""] * len(self._storages), list[list[int]]()
        aliases += [[] for _ in devices]
        versions = [0] * len(devices)
        for row, tensor in enumerate(tensors):
            at = tensor.storage
            if at is not None:
                aliases[at].append(row)
                devices[at] = tensor.device
                versions[at] = max(versions[at], tensor.version)
        for _, place, version, now, _ in self.columns.odd.values():
            at = tensors[self._places[place]].storage
            if now != version and at is not None:
                versions[at] = max(versions[at], now)
        sizes = self.columns.storages.values()
        return tuple(
            [
                _storage_meta(
                    nbytes, devices[at], itemsize, versions[at], tuple(aliases[at])
                )
                for at, (nbytes, itemsize) in enumerate(sizes)
            ]
        )


def order(seen: GraphColumns) -> list[int]:
    """Return the nodes as the forward pass made them, leaves as it used them."""
    is_leaf = [cls.leaf for cls in seen.classes]
    made = [number for number, leaf in enumerate(is_leaf) if not leaf]
    made.sort(key=seen.sequences.__getitem__)
    leaves: dict[int, None] = {}
    for number in made:
        for edge in seen.edges_of(number):
            if edge is not None and is_leaf[edge[0]]:
                leaves.setdefault(edge[0])
    for number in range(seen.roots):
        if is_leaf[number]:
            leaves.setdefault(number)
    return [*leaves, *made]


def _modified(saved: Sequence[Kept]) -> tuple[str, ...]:
    for _, _, version, now, _ in saved:
        if now != version:
            return ("modified",)
    return ()


@cache
def _kind_of_name(name: str) -> ir.NodeKind:
    base, found, _ = name.partition("Backward")
    if name == "CopySlices":
        return "inplace"
    return "view" if found and base in VIEWS else "op"


def _kind(cls: NodeClass) -> ir.NodeKind:
    if cls.leaf:
        return "accumulate"
    return "custom" if cls.custom else _kind_of_name(cls.name)
