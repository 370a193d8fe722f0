"""The steps of a recording that are kept, and when an old one is forgotten."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradviz._capture.recorder.raw import EventList, RawNode

_LONGEST = 10  # times the most nodes, before a step without backward is cut
_MOST_EVENTS = 20_000  # that no node stands for: ops under no_grad, modules
_PER_NODE = 8  # further events, for each node of the step


@dataclass(slots=True, eq=False)
class RawStep:
    """What happened until a backward pass was over."""

    nodes: list[RawNode] = field(default_factory=list[RawNode])
    events: EventList = field(default_factory=EventList)


class Steps:
    """The last finished steps, and the one that is open.

    Finished ones are forgotten, oldest first, beyond ``most`` of them, or where those
    that are kept hold more than ``max_nodes`` nodes together.
    """

    def __init__(self, most: int, max_nodes: int) -> None:
        self.most = most
        self.finished: list[RawStep] = []
        self.open = RawStep()
        self.forgotten = 0
        self._events_forgotten = 0
        self._max_nodes = max_nodes

    @property
    def is_too_long(self) -> bool:
        """Whether the open step has more nodes than any that is to be kept whole."""
        return len(self.open.nodes) > self._max_nodes * _LONGEST

    def shorten(self) -> bool:
        """Forget old events of the open step, if it has too many; tell whether it had.

        A long stretch without a graph, an evaluation for example, ends in no backward.
        """
        events = self.open.events
        if len(events) <= _MOST_EVENTS + _PER_NODE * len(self.open.nodes):
            return False
        self._events_forgotten += len(events) // 2
        events.forget(len(events) // 2)
        return True

    def all(self) -> list[RawStep]:
        """Return the kept steps, the open one last."""
        return [*self.finished, self.open]

    def nodes(self) -> list[RawNode]:
        """Return the nodes of the kept steps."""
        return [raw for step in self.all() for raw in step.nodes]

    def end(self) -> None:
        """Close the open step and begin another one."""
        self.finished.append(self.open)
        self.open = RawStep()
        count = sum(len(step.nodes) for step in self.finished)
        while len(self.finished) > self.most or (
            len(self.finished) > 1 and count > self._max_nodes
        ):
            oldest = self.finished.pop(0)
            count -= len(oldest.nodes)
            self.forgotten += 1
            for raw in oldest.nodes:
                raw.behind = raw.numbers = ()  # newer nodes may refer to this one alone

    def summary(self) -> str:
        """Say how many steps and events are missing; "" where none is."""
        said: list[str] = []
        if self.forgotten:
            kept = len(self.finished) + bool(self.open.nodes)
            recorded = self.forgotten + kept
            said.append(f"{recorded} steps were recorded; the last {kept} are kept.")
        if self._events_forgotten:
            said.append(
                f"The oldest {self._events_forgotten} events of a long stretch without "
                "gradients were forgotten."
            )
        return " ".join(said)
