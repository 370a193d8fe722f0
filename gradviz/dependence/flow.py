"""Where values came from, through everything that forgets the graph."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TypeAlias

from gradviz.dependence.numbers import (
    TRIVIAL,
    carried_in,
    integers_in,
    is_foreign,
    numbers_in,
)
from gradviz.dependence.op_families import DIFFERENCES, LOSSES, words
from gradviz.program import SHAPED_LIKE, Call, History, RawSite, Value


def is_apart(call: Call, made: Value) -> bool:
    """Return whether one of several results does not depend on what learns.

    ``broadcast_tensors`` of a learned mean and a constant: the second result is one.
    """
    return (
        not made.requires_grad
        and "float" in made.dtype
        and any(each.requires_grad for each in call.outputs)
    )


def is_new(call: Call, made: Value) -> bool:
    """Return whether a result has none of the graph of what it was made from."""
    if not made.requires_grad:
        return True
    given = any(each.tensor == made.tensor for each in call.inputs)
    return made.is_leaf and not made.is_view and not given


def is_end(value: Value) -> bool:
    return value.requires_grad and value.is_parameter


def meeting(call: Call) -> Callable[[Value], bool]:
    """Return what tells whether a call joins an operand with another that learns."""
    learn = {each.tensor for each in call.inputs if each.requires_grad}
    return lambda operand: len(learn) > (operand.tensor in learn)


NUMBERS = words("item tolist float int index bool complex")
ARRAYS = words("numpy array")
ENTRIES = words(
    "tensor as_tensor asarray from_numpy from_dlpack Tensor FloatTensor "
    "DoubleTensor full new_tensor new_full"
)

PICKING = words("getitem select narrow roll")

_COMPARISONS = (
    DIFFERENCES
    | LOSSES
    | words("dist pairwise_distance kl_div cosine_similarity gather")
)
INDEPENDENT = SHAPED_LIKE | words(
    "requires_grad_ requires_grad.set grad.get shape.get size grad_fn.get"
)


@dataclass(frozen=True, slots=True)
class Detour:
    """Values that left the tensor library and came back as a new tensor."""

    export: Call
    entry: Call
    seen: bool = True  # the numbers are the same; False: only the order suggests it


@dataclass(frozen=True, slots=True)
class Crossing:
    """A call whose result has no graph although one of its operands had one."""

    call: Call
    source: Value  # the operand
    detour: Detour | None = None  # the way from the call to the root
    fed: bool = False  # its result met something that learns, not only a comparison


_Step = tuple[Value, int, Detour | None, bool]  # value, before, way to here, fed


_Making: TypeAlias = tuple[Call, Value]
"""A call, and the tensor that it gave or wrote."""

_Walked: TypeAlias = dict[tuple[bool, int, Hashable], int]
"""By memory and way, how many of its makers were met."""


def _index_of(making: _Making) -> int:
    return making[0].index


def dimension(call: Call, *names: str) -> int | None:
    """Return the dimension a call is given, by name (``dim``) or second."""
    named = (call.keywords[each] for each in names or ("dim",) if each in call.keywords)
    given = next(named, None)
    if given is None and len(call.arguments) > 1:
        given = call.arguments[1]
    return given if isinstance(given, int) else None


def name_of(call: Call) -> str:
    """Return the name of a call's op without the underscores of a special method."""
    op = call.op
    return op[2:-2] if op.startswith("__") and op.endswith("__") else op


class Flow:
    """Walks from a result to what it was computed from, up to where graphs end."""

    def __init__(self, history: History) -> None:
        self.history = history

    @cached_property
    def _producers(self) -> dict[int, list[_Making]]:
        found: dict[int, list[_Making]] = defaultdict(list)
        for call in self.history.calls:
            if name_of(call) not in INDEPENDENT and not self._inner(call):
                for value in call.outputs:
                    found[value.tensor].append((call, value))
        return found

    def _inner(self, call: Call) -> bool:
        """Return whether a call is part of a Function that answers for its graph."""
        around = self.history.call_at(call.within)
        return around is not None and "checkpoint" not in around.op.lower()

    @cached_property
    def _writers(self) -> dict[int, list[_Making]]:
        found: dict[int, list[_Making]] = defaultdict(list)
        for call in self.history.calls:
            writes = call.op.endswith("_") or call.op == "setitem"
            if writes and not self._inner(call):
                for write in call.writes:
                    found[write.storage].append((call, write.value))
        return found

    @cached_property
    def _exports(self) -> list[Call]:
        """The calls that handed values of a graph to Python or NumPy, in order."""
        names = NUMBERS | ARRAYS
        return [
            call
            for call in self.history.calls
            if name_of(call) in names and call.inputs and not call.outputs
        ]

    @cached_property
    def _numbers(self) -> dict[float, list[Call]]:
        found: dict[float, list[Call]] = defaultdict(list)
        for call in self._exports:
            for number in set(numbers_in(call.result)) - TRIVIAL:
                found[number].append(call)
        return found

    @cached_property
    def _spelt_out(self) -> set[tuple[RawSite | None, float]]:
        """The numbers that places were given before any export gave them.

        That something measured 0.0 says nothing about a `label_smoothing` of 0.0.
        """
        first = {number: calls[0].index for number, calls in self._numbers.items()}
        return {
            (call.site, number)
            for call in self.history.calls
            for number in numbers_in((*call.arguments, *call.keywords.values()))
            if call.index < first.get(number, -1)
        }

    def crossings(self, root: Value, before: int) -> Iterator[Crossing]:
        """Yield where the graphs behind a value end, nearest first."""
        waiting: list[_Step] = [(root, before, None, False)]
        seen: set[tuple[int, bool]] = set()
        passed: set[tuple[int, int, bool, bool]] = set()
        walked: _Walked = {}
        for value, limit, detour, fed in waiting:
            mark = value.tensor, detour is None
            if mark in seen:
                continue
            seen.add(mark)
            is_made, calls = self._made(value, limit, walked, (detour is None, fed))
            if not is_made and detour is None:
                yield from self._unexplained(value, limit, fed)
            for call, made in calls:
                turn = call.index, id(made), detour is None, fed
                if turn in passed:
                    continue
                passed.add(turn)
                target, meets = compares(call), meeting(call)
                for operand, export in self._operands(call):
                    way = export or detour
                    met = not target and (fed or meets(operand))
                    if operand.requires_grad and is_apart(call, made) and not export:
                        continue
                    if operand.requires_grad and (way or is_new(call, made)):
                        source = export.export if export is not None else call
                        yield Crossing(source, operand, way, met)
                    elif operand.tensor != value.tensor and not is_end(operand):
                        waiting.append((operand, call.index, way, met))

    def constant(
        self, value: Value | None, number: float | None, use: Call
    ) -> Iterator[Crossing]:
        """Yield where the graphs behind a constant end, a tensor or a plain number."""
        if value is not None:
            yield from self.crossings(value, use.index)
        for export in self._numbers.get(number, ()) if number is not None else ():
            source = export.inputs[0]
            if source.requires_grad and export.index < use.index:
                yield Crossing(export, source)

    def calls_between(
        self, start: Iterable[Value], end: Value, before: int
    ) -> list[Call]:
        """Return the calls on the ways from some values to another one."""
        behind = self.history.behind([end], before)
        waiting = [each.tensor for each in start]
        met, found = set(waiting), dict[int, Call]()
        for tensor in waiting:
            for use in self.history.uses(tensor):
                made = {each.tensor for each in use.outputs} & behind
                if use.index < before and made:
                    found[use.index] = use
                    waiting += made - met
                    met |= made
        return [found[index] for index in sorted(found)]

    def leaves(self, value: Value, before: int) -> set[int]:
        """Return the leaves that the graph of a value ends at.

        Found from the calls: nodes that no pass walked may be missing from the log.
        """
        waiting, seen, found = [(value, before)], set[int](), set[int]()
        walked: _Walked = {}
        for each, limit in waiting:
            if each.tensor in seen or not each.requires_grad:
                continue
            seen.add(each.tensor)
            is_made, calls = self._made(each, limit, walked)
            if each.is_leaf and not (each.is_view and is_made):
                found.add(each.tensor)  # a view made under no_grad is none
                continue
            for call, _ in calls:
                waiting += [(operand, call.index) for operand in call.inputs]
        return found

    def _made(
        self, value: Value, limit: int, walked: _Walked, way: Hashable = None
    ) -> tuple[bool, list[_Making]]:
        """Return whether any call made a tensor, and those not met on this way yet.

        These are the calls that gave it or wrote its memory, latest first. Memory that
        many views were written through has many makers each: ``walked`` knows how many
        of them came up.
        """
        made = self._producers.get(value.tensor, ())
        leaf = value.is_leaf and value.requires_grad
        several = [] if leaf else [self._writers]
        if not made:  # by a constructor that is no call: Variable, Tensor
            several.insert(0, self._in_memory)
        found = {call.index: (call, each) for call, each in made if call.index < limit}
        is_made = bool(found)
        for makers in several:
            pairs = makers.get(value.storage, [])
            end = bisect_left(pairs, limit, key=_index_of)
            place = makers is self._writers, value.storage, way
            for call, each in pairs[walked.get(place, 0) : end]:
                found.setdefault(call.index, (call, each))
            walked[place] = max(end, walked.get(place, 0))
            is_made = is_made or end > 0
        return is_made, [found[index] for index in sorted(found, reverse=True)]

    @cached_property
    def _in_memory(self) -> dict[int, list[_Making]]:
        found: dict[int, list[_Making]] = defaultdict(list)
        for pairs in self._producers.values():
            for call, value in pairs:
                found[value.storage].append((call, value))
        for pairs in found.values():
            pairs.sort(key=_index_of)
        return found

    def _unexplained(self, value: Value, limit: int, fed: bool) -> Iterator[Crossing]:
        """Yield the exports that a tensor of unknown origin may be made of."""
        use = self.history.call_at(limit)
        if value.requires_grad or use is None or "float" not in value.dtype:
            return
        if not self.history.is_told_in_full(limit):
            return  # what made it may have been left out
        for export in nearest(self._recent(use), self._fills):
            for operand in export.inputs:
                if operand.requires_grad:
                    yield Crossing(export, operand, Detour(export, use, False), fed)

    def _operands(self, call: Call) -> Iterator[tuple[Value, Detour | None]]:
        """Yield what a call computed with, and the detour that numbers took to it."""
        for value in call.inputs:
            yield value, None
        for detour in self._detours(call):
            for value in detour.export.inputs:
                yield value, detour

    @cached_property
    def _integers(self) -> dict[int, list[Call]]:
        """The exports of numbers with a graph, by the integers that they give."""
        found: dict[int, list[Call]] = defaultdict(list)
        for call in self._exports:
            number = call.result
            learned = call.inputs[0].requires_grad
            if learned and isinstance(number, int | float) and isfinite(number):
                for whole in {int(number), round(number)}:
                    found[whole].append(call)
        return found

    def _detours(self, call: Call) -> list[Detour]:
        given = (*call.arguments, *call.keywords.values())
        if name_of(call) in PICKING:
            return [] if call.site in self._counting else list(self._picked(call))
        found = {
            export.index: export
            for number in carried_in(call, self.history.places)
            if (call.site, number) not in self._spelt_out
            for export in self._numbers.get(number, ())
            if export.index < call.index
        }

        def is_own(export: Call) -> bool:
            inside = self.history.places.is_within(export.site, call.site)
            return inside or self._names_what(export, call)

        if name_of(call) in ENTRIES and not found and not call.inputs:
            recent = self._recent(call) if is_foreign(given) else []
            recent = nearest(recent, is_own)
            if not recent:
                return []
            known_since = self._first_entries.get((call.site, repr(given)), call.index)
            return [
                Detour(export, call, seen=False)
                for export in recent
                if any("float" in each.dtype for each in export.inputs)
                and export.index < known_since
            ]
        return [Detour(each, call) for each in nearest(found.values(), is_own)]

    def _names_what(self, export: Call, call: Call) -> bool:
        """Return whether an export went into a name that a call reads beside it."""
        places = self.history.places
        statement = places.statement(call.site)
        whole = [] if statement is None else ast.walk(statement)
        read = {each.id for each in whole if isinstance(each, ast.Name)}
        given = not read.isdisjoint(places.targets(export.site))
        around = {code for code, _ in export.frames}
        return given and call.site is not None and call.site[0] in around

    def _fills(self, export: Call) -> bool:
        """Return whether a constructor took numbers: ``torch.Tensor(losses)``."""
        name, bracket, _ = self.history.text(export.site).partition("(")
        return bool(bracket) and name.rpartition(".")[2] in ENTRIES

    @cached_property
    def _first_entries(self) -> dict[tuple[RawSite | None, str], int]:
        """When places were first given what they are given: before later exports."""
        found: dict[tuple[RawSite | None, str], int] = {}
        for call in self.history.calls:
            if name_of(call) in ENTRIES and not call.inputs:
                given = repr((*call.arguments, *call.keywords.values()))
                if "Opaque" not in given:  # of an array, no number is known
                    found.setdefault((call.site, given), call.index)
        return found

    def _picked(self, call: Call) -> Iterator[Detour]:
        """Yield the exports whose numbers an index may be."""
        for number in integers_in(call.arguments[1:]):
            for export in self._integers.get(number, ()):
                if export.index < call.index:
                    yield Detour(export, call, seen=False)

    @cached_property
    def _counting(self) -> set[RawSite | None]:
        """The places that also pick by integers of no export: loops over a table.

        That a loss is about 1 says nothing about the row 1 of a data set.
        """
        return {
            call.site
            for call in self.history.calls
            if name_of(call) in PICKING
            and list(integers_in(call.arguments[1:]))
            and not any(self._picked(call))
        }

    def _recent(self, call: Call) -> list[Call]:
        """Return the exports since the backward pass before a call.

        What NumPy or Python did with the numbers in between cannot be seen.
        """
        passes = [each.index for each in self.history.backwards]
        since = max((each for each in passes if each < call.index), default=-1)
        return [each for each in self._exports if since < each.index < call.index]


def nearest(exports: Iterable[Call], is_own: Callable[[Call], bool]) -> list[Call]:
    """Leave out the exports of numbers that an entry took out of tensors itself.

    Or that went into a name which it reads. That a line before ``torch.Tensor(losses)``
    logged them has no part in it.
    """
    given = list(exports)
    if len(given) < 2:
        return given  # it is the entry's own, or nothing is nearer
    own = {each.index: set(numbers_in(each.result)) for each in given if is_own(each)}
    taken = set[float]().union(*own.values())
    return [
        each
        for each in given
        if each.index in own or not taken.intersection(numbers_in(each.result))
    ]


def compares(call: Call) -> bool:
    """Tell whether a call compares its operands, as losses and differences do."""
    return name_of(call) in _COMPARISONS or call.op.endswith("_loss")
