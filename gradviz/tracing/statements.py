"""From the events of a run to the statements that ran, and the tensors they bound."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import TypeAlias

from gradviz.program import Call, Event, ModuleCall, Program, RawSite, Value
from gradviz.program.places import Places, names_in

Span: TypeAlias = tuple[int, int, int, int]
"""First line, first column, last line, last column: as in a syntax tree, in bytes."""

Tensors: TypeAlias = tuple[Value, ...]

_LIBRARIES = f"{os.sep}site-packages{os.sep}"


@dataclass(frozen=True, slots=True)
class Assigned:
    """A statement that ran: where, how deep in calls, and what its names got."""

    file: str
    line: int
    depth: int
    names: tuple[tuple[str, Tensors], ...]


@dataclass(slots=True)
class _Frame:
    """A function of the user's while it runs, as far as events tell."""

    code: CodeType
    site: RawSite
    layer: int | None = None  # whose call gave the latest value, see _Walk._layer
    values: dict[Span, Tensors] = field(default_factory=dict[Span, Tensors])
    # of the expressions of the statement that runs
    bound: dict[str, Tensors] = field(default_factory=dict[str, Tensors])


def assigned(program: Program) -> Iterator[Assigned]:
    """Yield the statements of a run that bound tensors, in the order they ended."""
    walk = _Walk(Places(), program)
    for event in program.events:
        yield from walk.event(event)
    yield from walk.close(0)


class _Walk:
    """Follows the frames of the events, outermost first."""

    def __init__(self, places: Places, program: Program) -> None:
        self._places = places
        self._script = program.script
        # What a layer's constructor makes at these lines is not what it gives.
        self._constructions = {each.site for each in program.modules.values()}
        self._modules: dict[int, ModuleCall] = {}  # by index
        self._frames: list[_Frame] = []

    def event(self, event: Event) -> Iterator[Assigned]:
        """Take an event; yield the statements that had ended before it."""
        if isinstance(event, ModuleCall):
            self._modules[event.index] = event
        # No other event has all of the stack.
        if not isinstance(event, Call) or event.site is None:
            return
        sites = self._inside([*reversed(event.stack), event.site])
        if not sites or event.site in self._constructions:
            return
        yield from self._move(sites)
        span = _span(event.site)
        if not event.outputs or event.error is not None or span is None:
            return
        frame, layer = self._frames[-1], self._layer(event)
        if span in frame.values and (layer is None or layer != frame.layer):
            yield from self._end_statement(len(self._frames) - 1)  # it runs once more
        frame.values[span] = event.outputs
        frame.layer = layer

    def _layer(self, call: Call) -> int | None:
        """Return the library's layer that an expression called, as event index.

        All that runs inside is at the line that calls it, and the last call gives the
        value.
        """
        found: int | None = None
        module = self._modules.get(-1 if call.module is None else call.module)
        while module is not None and module.site == call.site:
            found = module.index
            module = self._modules.get(-1 if module.parent is None else module.parent)
        return found

    def _inside(self, sites: list[RawSite]) -> list[RawSite]:
        """Leave out who called the script: us, and runpy."""
        files = [code.co_filename for code, _ in sites]
        return sites[files.index(self._script) :] if self._script in files else sites

    def _move(self, sites: Sequence[RawSite]) -> Iterator[Assigned]:
        """Bring the frames to where an event is."""
        same = 0
        for frame, site in zip(self._frames, sites, strict=False):
            if frame.code is not site[0]:
                break
            same += 1
            if frame.site != site:
                break
        yield from self.close(same)
        if same:
            frame, site = self._frames[same - 1], sites[same - 1]
            if self._statement(frame.site) is not self._statement(site):
                yield from self._end_statement(same - 1)
            frame.site = site
        self._frames += [_Frame(site[0], site) for site in sites[same:]]

    def close(self, depth: int) -> Iterator[Assigned]:
        """End the frames from this depth on, the innermost first."""
        while len(self._frames) > depth:
            frame = self._frames[-1]
            result = self._returned(frame)
            yield from self._end_statement(len(self._frames) - 1)
            self._frames.pop()
            span = _span(self._frames[-1].site) if self._frames else None
            if result is not None and span is not None:
                self._frames[-1].values[span] = result

    # ---- statements ------------------------------------------------------------------

    def _statement(self, site: RawSite) -> ast.stmt | None:
        return self._places.statement(site)

    def _end_statement(self, depth: int) -> Iterator[Assigned]:
        frame = self._frames[depth]
        statement = self._statement(frame.site)
        names = tuple(self._bindings(statement, frame))
        frame.values.clear()
        frame.bound.update(names)
        file = frame.code.co_filename
        if names and statement is not None and _LIBRARIES not in file:
            yield Assigned(file, statement.lineno, depth, names)

    def _bindings(
        self, statement: ast.stmt | None, frame: _Frame
    ) -> Iterator[tuple[str, Tensors]]:
        match statement:
            case ast.Assign(targets, value):
                pass
            case ast.AnnAssign(target, _, ast.expr() as value):
                targets = [target]
            case ast.AugAssign(target):
                targets, value = [target], statement
            case _:
                return
        found = self._value(value, frame)
        for target in targets if found is not None else ():
            yield from _shared_out(names_in(target), found or ())

    def _value(self, node: ast.AST, frame: _Frame) -> Tensors | None:
        """Return the tensors that an expression gave; None where that is not known."""
        span = _span_of(node)
        if span in frame.values:
            return frame.values[span]
        match node:
            case ast.Name(name):
                return self._name(name, frame)
            case ast.Tuple(parts) | ast.List(parts) | ast.Dict(values=parts):
                found = [self._value(part, frame) for part in parts]
                known = [each for each in found if each is not None]
                if len(known) == len(found):
                    return tuple(value for each in known for value in each)
            case _:
                pass
        return None

    def _name(self, name: str, frame: _Frame) -> Tensors | None:
        if name in frame.bound or name in frame.code.co_varnames:
            return frame.bound.get(name)
        return self._frames[0].bound.get(name)

    def _returned(self, frame: _Frame) -> Tensors | None:
        """Return what a frame that ends gave back, where its syntax leaves no doubt."""
        statement = self._statement(frame.site)
        if isinstance(statement, ast.Return) and statement.value is not None:
            return self._value(statement.value, frame)
        function = self._places.function(frame.code)
        if not isinstance(function, ast.FunctionDef):
            return None
        returns = list(_returns(function))
        if len(returns) != 1 or returns[0] is not function.body[-1]:
            return None
        last = returns[0].value
        if last is None:
            return None
        bound = {**frame.bound, **dict(self._bindings(statement, frame))}
        return self._value(last, _Frame(frame.code, frame.site, bound=bound))


def _returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """Yield the return statements of a function, and of none inside it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Return):
            yield each
        elif not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(each)


def _shared_out(names: list[str], tensors: Tensors) -> Iterator[tuple[str, Tensors]]:
    """Give each name its tensors, where their numbers agree."""
    if len(names) == 1:
        yield names[0], tensors
    elif len(names) == len(tensors):
        for name, tensor in zip(names, tensors, strict=True):
            yield name, (tensor,)


def _span(site: RawSite) -> Span | None:
    """Return where the expression at an instruction stands."""
    code, lasti = site
    positions = list(code.co_positions())
    place = lasti // 2
    if place >= len(positions):
        return None
    line, end_line, column, end_column = positions[place]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, column, end_line, end_column


def _span_of(node: ast.AST) -> Span | None:
    line, column = getattr(node, "lineno", None), getattr(node, "col_offset", None)
    end_line = getattr(node, "end_lineno", None)
    end_column = getattr(node, "end_col_offset", None)
    if line is None or column is None or end_line is None or end_column is None:
        return None
    return line, column, end_line, end_column
