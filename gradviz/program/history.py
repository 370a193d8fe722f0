"""Questions that rules ask of a program log, answered from indexes built once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar, cast

from gradviz.program.events import Backward, Call, Event, Raised
from gradviz.program.places import Places
from gradviz.program.records import Program
from gradviz.program.values import Node, RawSite, Value, Write
from gradviz.text.places import package_of

E = TypeVar("E", bound=Event)
T = TypeVar("T")

SHAPED_LIKE = frozenset(
    {"zeros_like", "ones_like", "empty_like", "full_like"}
    | {"rand_like", "randn_like", "randint_like"}
    | {"new_zeros", "new_ones", "new_empty", "new_full"}
)
"""Calls that take the shape of a tensor and none of its values."""


def following(events: list[E], index: int) -> list[E]:
    """Return those of some events, which are in order, that lie behind an index."""
    return events[bisect_right(events, index, key=lambda each: each.index) :]


class History:
    """A program log with its indexes. Rules get one of these and only read.

    >>> from gradviz.program.records import Program
    >>> History(Program("gradtape")).backwards
    []
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.places = Places()
        self._worked_out: dict[Any, Any] = {}
        self._by_class: dict[type, list[Any]] = {}

    def once(self, analysis: Callable[[History], T]) -> T:
        """Return ``analysis(self)``; rules that share one do not repeat its work."""
        if analysis not in self._worked_out:
            self._worked_out[analysis] = analysis(self)
        return cast(T, self._worked_out[analysis])

    # ---- events -------------------------------------------------------------------

    @cached_property
    def events(self) -> list[Event]:
        """All events, in order; where one thread is seen whole, those of that alone.

        What others did was seen in part, and parts give false causes: a step of an
        optimizer without the pass before it. Where several threads run passes, only
        those of the busiest are looked at: each has an order of its own.
        """
        events, home = self.program.events, self.program.thread
        passes = Counter(each.thread for each in events if isinstance(each, Backward))
        if home is None and len(passes) > 1:
            home = passes.most_common(1)[0][0]
        return [each for each in events if home is None or each.thread in (home, 0)]

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one class, in order."""
        found = self._by_class.get(kind)
        if found is None:
            found = [event for event in self.events if isinstance(event, kind)]
            self._by_class[kind] = found
        return found

    @cached_property
    def calls(self) -> list[Call]:
        """All calls, in order."""
        return self.of(Call)

    @cached_property
    def backwards(self) -> list[Backward]:
        """All backward passes, in order."""
        return self.of(Backward)

    @cached_property
    def known_in_full(self) -> list[Backward]:
        """The passes before which every call was told, and whose graphs were read.

        Of a step that was looked at in brief, calls without a graph may be missing, and
        nodes: there nothing can be said of what is not in the log.
        """
        nodes = self.program.nodes.keys()
        whole = (each for each in self.backwards if each.whole and not each.unusual)
        return [each for each in whole if nodes >= set(each.nodes)]

    @cached_property
    def has_all(self) -> bool:
        """Whether the log has lost none of its events."""
        return not self.events or self.events[-1].index < len(self.events)

    def is_told_in_full(self, index: int) -> bool:
        """Tell whether the step that an event belongs to has all its calls in the log.

        A step ends with a pass; where none followed, nothing says that it was in brief.
        """
        place = bisect_right(self.backwards, index, key=lambda each: each.index)
        return place == len(self.backwards) or self.backwards[place].whole

    def is_whole(self, start: int, end: int) -> bool:
        """Tell whether the log has all passes and updates between two events.

        A long run loses some, of its beginning or between its first and last steps.
        """
        gaps = self.program.gaps
        begun = bool(self.events) and self.events[0].index <= start
        return begun and not any(start < each <= end for each in gaps)

    def at(self, index: int | None) -> Event | None:
        """Return the event with this index, unless the log has dropped it."""
        return self.program.event(index)

    def call_at(self, index: int | None) -> Call | None:
        """Return the call with this index, unless it is none or was dropped."""
        event = self.at(index)
        return event if isinstance(event, Call) else None

    @cached_property
    def raised(self) -> Raised | None:
        """The exception that left the program, or the last cell that failed."""
        raised = self.of(Raised)
        return raised[-1] if raised else None

    def ended_by(self, event: Call | Backward) -> bool:
        """Tell whether the error of an event is that exception.

        The program caught all others, or they ended an earlier cell.
        """
        if self.raised is None or event.error is None:
            return False
        text = self.raised.text.strip()
        earlier = [each.index for each in self.of(Raised)[:-1]]
        return (
            bool(text)
            and text in event.error
            and event.index > max(earlier, default=-1)
        )

    # ---- data flow ----------------------------------------------------------------

    @cached_property
    def _producers(self) -> dict[int, list[Call]]:
        found: dict[int, list[Call]] = defaultdict(list)
        for call in self.calls:
            for value in call.outputs:
                found[value.tensor].append(call)
        return found

    @cached_property
    def _writes(self) -> dict[int, list[tuple[Call, Write]]]:
        found: dict[int, list[tuple[Call, Write]]] = defaultdict(list)
        for call in self.calls:
            for write in call.writes:
                found[write.storage].append((call, write))
        return found

    @cached_property
    def _uses(self) -> dict[int, list[Call]]:
        found: dict[int, list[Call]] = defaultdict(list)
        for call in self.calls:
            for value in {each.tensor: each for each in call.inputs}.values():
                found[value.tensor].append(call)
        return found

    def producer(self, value: Value | int, before: int | None = None) -> Call | None:
        """Return the call that first gave this tensor, if it is in the log."""
        tensor = value if isinstance(value, int) else value.tensor
        for call in self._producers.get(tensor, ()):
            if before is None or call.index < before:
                return call
        return None

    def last_producer(
        self, value: Value | int, before: int | None = None
    ) -> Call | None:
        """Return the last call that returned this tensor, in-place calls included."""
        tensor = value if isinstance(value, int) else value.tensor
        found = None
        for call in self._producers.get(tensor, ()):
            if before is None or call.index < before:
                found = call
        return found

    def uses(self, tensor: int, after: int = -1) -> list[Call]:
        """Return the calls behind an index that took this tensor in, in order."""
        found = self._uses.get(tensor, [])
        return found if after < 0 else following(found, after)

    def writes(
        self, storage: int, after: int = -1, before: int | None = None
    ) -> list[tuple[Call, Write]]:
        """Return who wrote a storage between two event indexes, in order."""
        rows = self._writes.get(storage, [])
        first = bisect_right(rows, after, key=lambda row: row[0].index)
        end = len(rows)
        if before is not None:
            end = bisect_left(rows, before, key=lambda row: row[0].index)
        return rows[first:end]

    def behind(self, start: Iterable[Value], before: int | None = None) -> set[int]:
        """Return the tensors that values were computed from, cuts or not.

        Follows arguments and results of all calls, so it also sees through
        ``detach()``, ``argmax`` and ``no_grad``; the start is part of the result. What
        a call took the shape of alone is not.
        """
        waiting = [value.tensor for value in start]
        seen: set[int] = set()
        while waiting:
            tensor = waiting.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            for call in self._producers.get(tensor, ()):
                if call.op not in SHAPED_LIKE and (
                    before is None or call.index < before
                ):
                    waiting += [value.tensor for value in call.inputs]
        return seen

    # ---- graph --------------------------------------------------------------------

    def node(self, key: int | None) -> Node | None:
        """Return a node of the log."""
        return None if key is None else self.program.nodes.get(key)

    def reach(self, roots: Iterable[int]) -> dict[int, Node]:
        """Return the nodes that a backward pass from these nodes would walk."""
        found: dict[int, Node] = {}
        waiting = list(roots)
        while waiting:
            key = waiting.pop()
            node = self.program.nodes.get(key)
            if key in found or node is None:
                continue
            found[key] = node
            waiting += [edge[0] for edge in node.next if edge is not None]
        return found

    def leaves_of(self, value: Value) -> set[int]:
        """Return the leaf tensors that the graph of a value ends at."""
        if value.node is None:
            return {value.tensor} if value.requires_grad else set()
        return self.leaves_behind([value.node])

    def leaves_behind(self, nodes: Iterable[int]) -> set[int]:
        """Return the leaf tensors that a backward pass from these nodes would reach."""
        reached = self.reach(nodes).values()
        return {node.leaf for node in reached if node.leaf is not None}

    def maker(self, node: Node) -> Call | None:
        """Return the call that made a node."""
        return self.call_at(node.call)

    # ---- words --------------------------------------------------------------------

    def name(self, tensor: Value | int, fallback: str = "a tensor") -> str:
        """Return what the program calls a tensor, in backticks, or the fallback."""
        name = self.bare_name(tensor)
        return f"`{name}`" if name else fallback

    def bare_name(self, tensor: Value | int) -> str:
        """Return what the program calls a tensor; "" of one without a name."""
        key = tensor if isinstance(tensor, int) else tensor.tensor
        facts = self.program.tensors.get(key)
        return "" if facts is None else facts.name or ""

    def text(self, site: RawSite | None) -> str:
        """Return the marked expression at a site, on one line; "" where it is lost."""
        return self.places.expression(site)

    def line(self, site: RawSite | None) -> str:
        """Return "line 12" for a site, "line 12 of package" for one in a library."""
        if site is None:
            return "an unknown line"
        package = package_of(site[0].co_filename)
        of = f" of {package}" if package else ""
        return f"line {self.places.line(site)}{of}"

    def quoted(self, site: RawSite | None) -> str:
        """Return "`loss.backward()` (line 12)"; where the text is lost, the line."""
        text, where = self.text(site), self.line(site)
        return f"`{text}` ({where})" if text else where
