"""The gradient flow of a log: what all its passes brought to the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from gradviz._capture.recorder.engine import RecordedLog
from gradviz._capture.recorder.from_log import briefly, statistics_of
from gradviz._capture.recorder.gradient_flow import (
    FULL_STEPS,
    KEPT_FLOW_POINTS,
    FlowLog,
)
from gradviz._capture.recorder.raw import RawFlowStep, RawNode, RawUnreached, as_tuple
from gradviz.program.events import Backward, OptimizerCall
from gradviz.program.records import Updates

_MOST_LEAVES = 2 * KEPT_FLOW_POINTS


class FlowOfLog:
    """Takes in the passes of a log from one index on, each once.

    A log drops old events; it is asked before they go, so the flow is that of the whole
    recording, however long. Leaves are stand-ins: their records change with each step.
    """

    def __init__(self, log: RecordedLog, first: int) -> None:
        self._log = log
        self._flow = FlowLog()
        self._heard = first  # index of the next event to hear of
        self._leaves: dict[int, RawNode] = {}  # by key
        self._reached: set[int] = set()  # tensors, also those of unknown norms
        self._bare: dict[int, RawNode] = {}  # of what took in nothing, by tensor
        self._keys: dict[int, int] = {}  # id of a stand-in -> key
        self._closed = False
        self._passes_before = log.passes_over
        log.program.before_drop.append(self.hear)
        if log.program.updates is None:
            log.program.updates = {}
        self._updates = log.program.updates

    def close(self) -> None:
        """Take in the last passes; later ones are no part of the recording."""
        self.hear()
        self._closed = True
        self._log.program.before_drop.remove(self.hear)

    def hear(self) -> None:
        """Take in the passes that ended since the last time."""
        log = self._log
        if self._closed:
            return
        with log.program.lock:
            news = [*log.program.passes_and_updates(self._heard)]
            ended = log.passes_over - self._passes_before
            for number, event in enumerate(news):
                if isinstance(event, OptimizerCall):
                    self._flow.stepped(event.index)
                    given = (each.tensor for each in event.states if each.has_grad)
                    self._reached.update(given)  # by hand, or by a library as FSDP
                elif self._flow.passes == ended:
                    break  # it is running
                else:
                    # Updates count too: there is at least one for a pass, mostly.
                    self._hear_pass(event, len(news) - number <= 2 * FULL_STEPS)
                self._heard = event.index + 1
            if len(self._updates) > 2 * len(self._flow.steps) + FULL_STEPS:
                self._forget_updates()

    @property
    def forgotten(self) -> int:
        """How many passes have no step that is kept."""
        return self._flow.forgotten

    def note(self) -> str | None:
        """Say which steps are left out, where there were too many."""
        every = self._flow.every
        if every == 1:
            return None
        return (
            f"Gradients of leaves are kept of 1 in {every:,} steps and of the last "
            f"{FULL_STEPS}, so that there are {KEPT_FLOW_POINTS:,} at most."
        )

    def steps(self) -> Sequence[RawFlowStep]:
        """Return the steps until now."""
        self.hear()
        return self._flow.steps

    def key(self, leaf: RawNode) -> int | None:
        """Return the key of the leaf that a stand-in stands for."""
        return self._keys.get(id(leaf))

    def steps_with(self, nodes: Mapping[int, RawNode]) -> list[RawFlowStep]:
        """Return the steps, with leaves as they are among these nodes, if they are."""
        return [
            RawFlowStep(
                step.time_ns,
                [nodes.get(self._keys[id(leaf)], leaf) for leaf in step.leaves],
                step.summaries,
                step.stepped,
                step.number,
                step.updates,
                self._changes(step),
            )
            for step in self.steps()
        ]

    def with_steps_of(
        self, steps: list[RawFlowStep], passes: Iterable[Backward]
    ) -> list[RawFlowStep]:
        """Return the steps, with empty ones for passes of which they tell nothing.

        So whoever draws these passes knows which they were.
        """
        known = {step.number for step in steps}
        found = [*steps]
        for event in passes:
            number = event.number - self._passes_before - 1
            if number >= 0 and number not in known:
                time_ns = self._log.times.get(event.index, 0)
                found.append(RawFlowStep(time_ns, (), (), number=number))
                known.add(number)
        return sorted(found, key=lambda step: step.number or 0)

    def _changes(self, step: RawFlowStep) -> list[tuple[float, float] | None]:
        """Return what the optimizers' steps after a pass changed of each leaf."""
        found: Updates = {}
        for event in step.updates:
            found |= self._updates.get(event, {})
        return [found.get(-self._keys[id(leaf)]) for leaf in step.leaves]

    def unreached(self, nodes: Mapping[int, RawNode]) -> list[RawUnreached]:
        """Return the parameters that took in nothing, of what is trained here.

        That is what optimizers were given, and models of which another part learns. A
        model may be gone by now, as one that a function made; of those that a loop made
        anew and that are gone, each name is told once, where none of them had a
        gradient.
        """
        program = self._log.program
        given = [row.tensors for row in [*program.optimizers.values()]]
        known = {key: program.tensors.get(key) for key in self._reached}
        told = {facts.name for facts in known.values() if facts is not None}
        found: dict[int, RawUnreached] = {}
        keys = dict.fromkeys(chain(*self._of_models(), *given))
        rows = [(key, facts) for key in keys if (facts := program.tensors.get(key))]
        for key, facts in sorted(rows, key=lambda row: not row[1].alive):
            gone = not facts.alive and facts.name in told
            if not facts.name or gone or key in self._reached:
                continue
            told.add(facts.name)
            leaf = nodes.get(-key) or self._bare_leaf(key, facts.name)
            found[key] = RawUnreached(leaf, facts.count, facts.frozen)
        return [found[key] for key in keys if key in found]

    def _of_models(self) -> list[list[int]]:
        """Return the parameters of each model a part of which got a gradient."""
        modules = dict(self._log.program.modules)
        inner = {child for row in modules.values() for child in row.children.values()}
        found: list[list[int]] = []
        for root in modules.keys() - inner:
            tree, seen, own = [root], {root}, list[int]()
            for row in filter(None, map(modules.get, tree)):
                own += row.parameters.values()
                tree += [key for key in row.children.values() if key not in seen]
                seen.update(row.children.values())
            if not self._reached.isdisjoint(own):
                found.append(own)
        return found

    def _bare_leaf(self, key: int, name: str) -> RawNode:
        made = RawNode("AccumulateGrad", "accumulate", name)
        return self._bare.setdefault(key, made)

    def _hear_pass(self, event: Backward, in_full: bool) -> None:
        time_ns = self._log.times.get(event.index, 0)
        for key, summary in event.at_leaves():
            taken = statistics_of(summary) if in_full else as_tuple(briefly(summary))
            self._flow.add(time_ns, self._stand_in(key), taken)
            self._reached.add(-key)
        self._flow.end_pass()
        self._reached.update(() if event.error else event.accumulates_into)
        if len(self._leaves) > _MOST_LEAVES:
            self._forget_leaves()

    def _forget_leaves(self) -> None:
        """Forget leaves whose steps are gone; a loop may make new ones in each turn."""
        kept = {id(leaf) for step in self._flow.steps for leaf in step.leaves}
        gone = [key for key, leaf in self._leaves.items() if id(leaf) not in kept]
        for key in gone:
            del self._keys[id(self._leaves.pop(key))]
        facts = self._log.program.tensors
        self._reached = {key for key in self._reached if key in facts}

    def _forget_updates(self) -> None:
        """Forget what was measured of steps that are left out."""
        kept = {event for step in self._flow.steps for event in step.updates}
        for event in [*self._updates]:
            if event < self._heard and event not in kept:
                del self._updates[event]

    def _stand_in(self, key: int) -> RawNode:
        leaf = self._leaves.get(key)
        if leaf is None:
            facts = self._log.program.tensors.get(-key)
            name = "" if facts is None else facts.name or ""
            leaf = self._leaves[key] = RawNode("AccumulateGrad", "accumulate", name)
            self._keys[id(leaf)] = key
        return leaf
