"""Builds the dependence graph of a run: one walk over its events, in order."""

from __future__ import annotations

import ast
from array import array
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias

from gradviz.dependence.flow import (
    ARRAYS,
    ENTRIES,
    INDEPENDENT,
    NUMBERS,
    PICKING,
    is_apart,
    is_new,
    name_of,
)
from gradviz.dependence.lineage import reached
from gradviz.dependence.nesting import is_part
from gradviz.dependence.numbers import (
    TRIVIAL,
    carried_in,
    integers_in,
    is_foreign,
    numbers_in,
)
from gradviz.dependence.op_families import words
from gradviz.program import Backward, Call, Event, History, RawSite, Value


class Kind(IntEnum):
    """How a value influenced another."""

    GRADIENT = 1  # with a derivative that a pass can walk
    CUT = 2  # the operand had a graph, and the result has none of it
    VALUE = 4  # the operand was a constant already
    ALIAS = 8  # another tensor wrote the memory, outside the graph
    GUESS = 16  # through Python or NumPy, as the order of events suggests
    CONTROL = 32  # decided whether a line ran
    UPDATE = 64  # a training step made the next value of a leaf


SURE = Kind.GRADIENT | Kind.CUT | Kind.VALUE | Kind.ALIAS
"""What influences without doubt, and within one step of a training."""

_OVERWRITING = words(
    "copy_ zero_ fill_ normal_ uniform_ set_ bernoulli_ random_ kaiming_uniform_ "
    "kaiming_normal_ xavier_uniform_ xavier_normal_ trunc_normal_ orthogonal_ ones_ "
    "zeros_ constant_ eye_ data.set"
)

_NEAR = 32  # exports that are asked whether they went into a new tensor

_Sources: TypeAlias = list[tuple[int, int]]
_Operand: TypeAlias = tuple[int, Value]


@dataclass(slots=True)
class Columns:
    """The graph as columns: vertices in the order of time, edges by their target.

    An edge leads from an earlier vertex to a later one, so a walk over the columns
    meets every source before what was made of it.
    """

    values: list[Value | None] = field(default_factory=list[Value | None])
    # the tensor at this moment; None: a number that left the library
    makers: list[Event | None] = field(default_factory=list[Event | None])
    # None: it was there before
    first: array[int] = field(default_factory=lambda: array("q", [0]))
    sources: array[int] = field(default_factory=lambda: array("q"))
    kinds: bytearray = field(default_factory=bytearray)
    of_tensor: dict[int, list[int]] = field(
        default_factory=lambda: defaultdict[int, list[int]](list)
    )
    roots: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    # of passes, by index
    made: dict[int, list[int]] = field(
        default_factory=lambda: defaultdict[int, list[int]](list)
    )  # vertices by the index of the event that made them


class Builder:
    """Reads a run from its first event to its last."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.columns = Columns()
        self._current: dict[int, int] = {}  # tensor -> its last vertex
        self._written: dict[int, int] = {}  # storage -> the last write of it
        self._holder: dict[int, int] = {}  # storage -> the last tensor made in it
        self._numbers: dict[float, int] = {}
        self._whole: dict[int, int] = {}  # integers near numbers
        self._exports: list[int] = []  # since the last pass, not yet joined
        self._recent: deque[tuple[int, Call]] = deque(maxlen=_NEAR)  # of them, the last
        self._names: dict[RawSite, set[str]] = {}
        self._reads: dict[tuple[RawSite, RawSite], bool] = {}
        self._joined: int | None = None  # all of them, as one vertex
        self._guards: dict[Any, dict[Any, tuple[int, int, int]]] = {}

    def build(self) -> Columns:
        """Return the graph of the run."""
        for event in self.history.events:
            if isinstance(event, Call):
                if not is_part(self.history, event):
                    self._call(event)
            elif isinstance(event, Backward):
                self._pass(event)
        return self.columns

    # ---- vertices -----------------------------------------------------------------

    def _add(self, value: Value | None, maker: Event | None, sources: _Sources) -> int:
        columns = self.columns
        vertex = len(columns.values)
        columns.values.append(value)
        columns.makers.append(maker)
        for source, kind in dict(sources).items():
            columns.sources.append(source)
            columns.kinds.append(kind)
        columns.first.append(len(columns.sources))
        if maker is not None:
            columns.made[maker.index].append(vertex)
        if value is not None:
            columns.of_tensor[value.tensor].append(vertex)
            self._current[value.tensor] = vertex
            self._holder[value.storage] = vertex
        return vertex

    def _read(self, value: Value) -> int:
        """Return the vertex of a tensor as an event reads it."""
        own = self._current.get(value.tensor)
        written = self._written.get(value.storage)
        if own is None:
            return self._add(value, None, self._origin(value, written))
        if written is None or written <= own:
            return own
        sources = [(own, self._kind(self.columns.values[own], value))]
        sources.append((written, self._kind(self.columns.values[written], value, True)))
        return self._add(value, self.columns.makers[written], sources)

    def _origin(self, value: Value, written: int | None) -> _Sources:
        """Return what a tensor that no call gave may be made of."""
        holder = self._holder.get(value.storage)
        if holder is not None:  # a constructor that is no call: Parameter(x)
            known = {holder} if written is None else {holder, written}
            return [(each, Kind.ALIAS) for each in sorted(known)]
        unknown = not value.requires_grad and "float" in value.dtype
        return self._python() if unknown else []

    def _kind(self, before: Value | None, after: Value, alias: bool = False) -> int:
        if before is not None and before.requires_grad and after.requires_grad:
            return Kind.GRADIENT
        return Kind.ALIAS if alias else Kind.VALUE

    # ---- events -------------------------------------------------------------------

    def _pass(self, event: Backward) -> None:
        roots = [self._read(each) for each in event.roots]
        self.columns.roots[event.index] = roots
        inputs = [self._read(each) for each in event.inputs]
        for result in event.results:
            if result is not None:
                kind = Kind.GRADIENT if result.requires_grad else Kind.CUT
                self._add(result, event, [(each, kind) for each in (*roots, *inputs)])
        self._exports, self._joined = [], None
        self._recent.clear()

    def _call(self, call: Call) -> None:
        name = name_of(call)
        if name in INDEPENDENT:
            self._independent(call)
            return
        operands = [(self._read(each), each) for each in call.inputs]
        extra = [*self._detours(call, name), *self._control(call)]
        if not call.outputs and call.inputs and name in NUMBERS | ARRAYS:
            self._export(call, name, operands)
            return
        written = {each.value.tensor: each.value for each in call.writes}
        after = {each.tensor: each for each in call.outputs}
        for write in call.writes:
            value = after.get(write.value.tensor, write.value)
            self._write(call, value, operands, extra)
        given = {each.tensor for each in call.inputs}
        for made in call.outputs:
            if call.op == "data.set":
                self._write(call, made, operands, extra)
            elif made.tensor not in written and made.tensor not in given:
                edges = [*self._edges(call, made, operands), *extra]
                self._add(made, call, edges)

    def _independent(self, call: Call) -> None:
        given = {each.tensor for each in call.inputs}
        for each in call.inputs:
            self._read(each)
        for made in call.outputs:
            if made.tensor not in given and made.tensor not in self._current:
                self._add(made, call, [])

    def _edges(self, call: Call, made: Value, operands: list[_Operand]) -> _Sources:
        new, apart = is_new(call, made), is_apart(call, made)
        edges: _Sources = []
        for vertex, operand in operands:
            if operand.requires_grad and apart:
                continue
            linked = Kind.CUT if new else Kind.GRADIENT
            edges.append((vertex, linked if operand.requires_grad else Kind.VALUE))
        return edges

    def _write(
        self, call: Call, value: Value, operands: list[_Operand], extra: _Sources
    ) -> None:
        leaf = value.is_leaf and value.requires_grad
        edges: _Sources = list(extra)
        for vertex, operand in operands:
            if operand.tensor == value.tensor:
                if call.op in _OVERWRITING:
                    continue
                kind = Kind.UPDATE if leaf else self._kind(operand, value)
            elif call.op == "step":
                continue
            elif operand.requires_grad:
                linked = value.requires_grad and not leaf and call.grad_enabled
                kind = Kind.GRADIENT if linked else Kind.CUT
            else:
                kind = Kind.VALUE
            edges.append((vertex, kind))
        vertex = self._add(value, call, edges)
        self._written[value.storage] = vertex

    # ---- numbers and branches ------------------------------------------------------

    def _export(self, call: Call, name: str, operands: list[_Operand]) -> None:
        kinds = {True: Kind.CUT, False: Kind.VALUE}
        edges: _Sources = [
            (vertex, kinds[each.requires_grad]) for vertex, each in operands
        ]
        vertex = self._add(None, call, edges)
        self._exports.append(vertex)
        self._recent.append((vertex, call))
        for number in set(numbers_in(call.result)) - TRIVIAL:
            self._numbers[number] = vertex
            if abs(number) < 1e9 and call.inputs[0].requires_grad:
                for whole in {int(number), round(number)} - {0, 1}:
                    self._whole[whole] = vertex
        self._guard(call, vertex)

    def _detours(self, call: Call, name: str) -> _Sources:
        """Return the numbers among the arguments that tensors were turned into."""
        if not self._numbers and not self._exports and self._joined is None:
            return []
        given = (*call.arguments, *call.keywords.values())
        if name in PICKING:
            whole = self._whole
            picked = {whole[n] for n in integers_in(given[1:]) if n in whole}
            return [(each, Kind.GUESS) for each in sorted(picked)]
        numbers = self._numbers
        floats = carried_in(call, self.history.places)
        found = {numbers[n] for n in floats if n in numbers}
        if not found and name in ENTRIES and not call.inputs and is_foreign(given):
            return self._named(call) or self._python()
        if not found and floats:
            return self._named(call)
        return [(each, Kind.VALUE) for each in sorted(found)]

    def _named(self, call: Call) -> _Sources:
        """Return the exports whose variable, or statement, makes a new tensor."""
        return [
            (vertex, Kind.GUESS)
            for vertex, export in self._recent
            if self._is_read(export.site, call.site)
        ]

    def _is_read(self, export: RawSite | None, entry: RawSite | None) -> bool:
        if export is None or entry is None or export[0] is not entry[0]:
            return False
        known = self._reads.get((export, entry))
        if known is None:
            places = self.history.places
            same = places.statement(export) is places.statement(entry)
            feeding = self._feeding(entry) & set(places.targets(export))
            known = self._reads[export, entry] = same or bool(feeding)
        return known

    def _feeding(self, entry: RawSite) -> set[str]:
        """Return the variables that a statement was computed from, in its function."""
        known = self._names.get(entry)
        if known is None:
            places = self.history.places
            around = places.function(entry[0]) or places.tree(entry[0].co_filename)
            given = _assignments(around)
            read = [each.id for each in _loads(places.statement(entry))]
            known = {*reached(read, lambda name: given.get(name, ()))}
            self._names[entry] = known
        return known

    def _python(self) -> _Sources:
        """Return all that left the library since the last pass, as one vertex.

        What Python and NumPy did with it cannot be seen.
        """
        if self._exports:
            edges: _Sources = [(each, Kind.GUESS) for each in self._exports]
            if self._joined is not None:
                edges.append((self._joined, Kind.GUESS))
            self._joined = self._add(None, None, edges)
            self._exports = []
        return [] if self._joined is None else [(self._joined, Kind.GUESS)]

    def _guard(self, call: Call, vertex: int) -> None:
        """Learn of a number that a condition asked for."""
        if call.site is None:
            return
        statement = self.history.places.statement(call.site)
        if isinstance(statement, ast.If | ast.While):
            line = self.history.places.line(call.site)
            last = statement.body[-1].end_lineno or line
            if line <= (statement.test.end_lineno or line) and last > line:
                guards = self._guards.setdefault(call.site[0], {})
                guards[statement] = statement.body[0].lineno, last, vertex

    def _control(self, call: Call) -> _Sources:
        site: RawSite | None = call.site
        guards = None if site is None else self._guards.get(site[0])
        if not guards or site is None:
            return []
        line = self.history.places.line(site)
        return [
            (vertex, Kind.CONTROL)
            for first, last, vertex in guards.values()
            if first <= line <= last
        ]


def _assignments(around: ast.AST | None) -> dict[str, set[str]]:
    """Map each variable of a function to those that its assignments read."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in () if around is None else ast.walk(around):
        if isinstance(each, ast.Assign | ast.AugAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            read = {name.id for name in _loads(each.value)}
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found[name.id] |= read
    return found


def _loads(statement: ast.AST | None) -> Iterator[ast.Name]:
    for each in () if statement is None else ast.walk(statement):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            yield each
