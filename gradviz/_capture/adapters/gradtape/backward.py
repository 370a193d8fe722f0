"""Backward passes: what they are about to walk, what went through, how they ended."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from threading import get_ident
from types import TracebackType
from typing import Any

from gradtape._debug import (
    Collected,
    Node,
    PublicCall,
    Tensor,
    fingerprint,
    mode,
    next_sequence_nr,
    observe,
)
from gradtape._debug import saved_fingerprints as _prints
from gradtape._debug import saved_has_values as _has_values
from gradviz._capture.adapters.gradtape.backward_args import (
    gradients_of,
    listed,
    roots_of,
    starts_of,
    tensors_of,
)
from gradviz._capture.adapters.gradtape.calls import here
from gradviz._capture.adapters.gradtape.context import GradtapeContext
from gradviz._capture.adapters.gradtape.engine_events import Listener
from gradviz._capture.adapters.gradtape.folding import folded_graph
from gradviz._capture.adapters.gradtape.pass_preview import Ahead, unseen_writes
from gradviz._capture.adapters.gradtape.runs import PassRuns
from gradviz._capture.adapters.gradtape.saved_attributes import Slots
from gradviz._capture.recorder.fold import Folded
from gradviz.program.events import Backward, Call, HookRegistered
from gradviz.program.noted import Glance
from gradviz.program.values import Saved, StaleSaved, Value

MAX_NODES = 20_000
"""A pass over more nodes than this lists none of them."""

_STATISTICS = ("running_mean", "running_var")  # batch norm updates them itself

_LOOPS = ("_walk", "_walk_carefully", "evaluate")


@dataclass(slots=True, eq=False)
class _Running:
    """A pass that has begun."""

    index: int
    given: dict[str, Any]  # to `backward`, by name
    nodes: tuple[int, ...]  # () where they are too many to be told
    runs: PassRuns
    inside: int | None = None  # the index of what runs around it
    listening: Any = None  # where we listen for this pass alone


class Passes:
    """Writes Backward events."""

    def __init__(self, log: GradtapeContext) -> None:
        self.log = log
        self.hooks: dict[int, HookRegistered] = {}
        self._listener = Listener(log)
        self._listening = False  # all the time
        self._running: dict[int, list[_Running]] = {}  # by thread, innermost last
        self._refused: set[int] = set()  # nodes that a pass found freed
        # Passes whose nodes may have no rows yet: index and sequence numbers of each.
        self._freeing: list[tuple[int, tuple[int, ...]]] = []
        self.ahead = Ahead(log.reader)
        self.since = 0  # sequence numbers above are of nodes younger than any write

    @property
    def index(self) -> int:
        """The index of the innermost pass that this thread runs."""
        innermost = self._innermost()
        return -1 if innermost is None else innermost.index

    @property
    def runs(self) -> PassRuns | None:
        """What is known of the innermost pass that this thread runs."""
        innermost = self._innermost()
        return None if innermost is None else innermost.runs

    def _innermost(self) -> _Running | None:
        if not self._running:  # so it is in forward, at each operation
            return None
        running = self._running.get(get_ident())
        if running:
            return running[-1]
        # Where passes are deep in one another, the engine goes on in a new thread.
        latest = (each[-1] for each in self._running.values())
        return max(latest, key=lambda each: each.index, default=None)

    def _event(self, index: int) -> Backward | None:
        event = self.log.program.event(index)
        return event if isinstance(event, Backward) else None  # it may be dropped

    def preflight(self, *roots: Tensor) -> Backward:
        """Log what a pass from these roots would find, without running it."""
        log = self.log
        with log.quiet(), log.lock:
            written = {
                (write.storage, write.after)
                for event in log.program.events
                if isinstance(event, Call)
                for write in event.writes
            }
            starts = starts_of(roots)
            for op, site, write in unseen_writes(log.reader, starts, written):
                call = Call(index=log.take_index(), op=op, site=site, writes=(write,))
                call.inputs = call.outputs = (write.value,)
                log.add(call)
            ended = self.begin("backward", {"tensors": roots})
            self._leave(ended)
            self.finish()
            event = self._event(ended.index)
            assert event is not None
            return event

    def install(self) -> None:
        """Listen to what passes run, where values are looked at."""
        if self.log.scan.on:
            self.listen()

    def listen(self) -> None:
        """Listen to all that the engine announces, until the log is closed."""
        self._listening = True
        brief = not self.log.scan.on  # no values are looked at
        self.log.on_exit(observe(self._listener, brief=brief).remove)

    # ---- what the engine announces --------------------------------------------------

    def pass_began(self, call: PublicCall) -> bool:
        """Note that a pass is about to run; tell whether that went well."""
        doing = here.now
        given = dict(zip(call.parameters, call.args, strict=False), **call.kwargs)
        begun = self._begin(call.name, given)
        if begun is None:
            return False
        begun.listening = self._listen() if self.hooks else None
        begun.inside, doing.inside = doing.inside, begun.index
        return True

    def pass_ended(self, call: PublicCall, result: Any) -> None:
        """Note that a pass is over."""
        self._end(self._ended(), call.name, result)

    def pass_raised(self, call: PublicCall, error: BaseException) -> None:
        """Note that a pass raised."""
        self._fail(self._ended(), error)

    def _ended(self) -> _Running:
        """Return the pass that this thread has ended, and go back to what is around."""
        ended = self._running[get_ident()][-1]
        here.now.inside = ended.inside
        mode.now.collected = None
        if ended.listening is not None:
            ended.listening.remove()
        return ended

    def _listen(self) -> Any:
        """Listen during a pass that runs hooks, where we do not listen anyway."""
        if self._listening or not any(not h.removed for h in self.hooks.values()):
            return None
        return observe(self._listener, brief=True)

    def _begin(self, api: Any, given: dict[str, Any]) -> _Running | None:
        try:
            with self.log.quiet(), self.log.lock:
                return self.begin(api, given, hand_over=True)
        except Exception as error:
            self.log.give_up("before a backward pass", error)
            return None

    def begin(
        self, api: Any, given: dict[str, Any], hand_over: bool = False
    ) -> _Running:
        """Walk what a pass will walk, without running anything; note it.

        With ``hand_over`` the engine, whose turn it is next, does not walk it again.
        """
        log, look = self.log, self.log.reader.look
        roots = roots_of(given)
        number_of = log.program.number_of
        if number_of is not None:
            log.program.loss = number_of(roots[0]) if len(roots) == 1 else None
        inputs: tuple[Glance, ...] = ()
        gradients: tuple[Glance | None, ...] = ()
        if len(given) > 1:
            inputs = tuple([look(each) for each in tensors_of(given.get("inputs"))])
            given_ones = listed(gradients_of(given))
            gradients = tuple(
                [look(t) if isinstance(t, Tensor) else None for t in given_ones]
            )
        stale: list[StaleSaved] = []
        if log.exports.shared:
            log.added(log.next_index)  # look at memory before what was saved of it

        def check(key: int, node: Node, slots: Slots, saved: Sequence[Saved]) -> None:
            stale.extend(self._stale(key, node, slots, saved))

        collected = Collected(starts_of(roots))
        folded = self._folded(collected)
        if folded is None:
            found = self.ahead.walk(roots, collected, check, self.since)
            count = len(found[0]) + len(found[1])
        else:
            log.size.counting = True  # its nodes are not heard of one by one
            found = self.ahead.fold(folded, roots, check)
            count = folded.total
        numbers, leaves, freed = found
        told = folded is not None or count <= MAX_NODES
        if freed:
            self._refused.update(freed)
        runs = PassRuns()
        index = log.note(
            "backward",
            log.site(),
            log.stack(),
            here.now.thread,
            api,
            (look(roots[0]),) if len(roots) == 1 else tuple(map(look, roots)),
            inputs,
            gradients,
            _keeps(given),
            bool(given.get("create_graph")),
            numbers if told else None,
            leaves,
            count,
            tuple(stale),
            tuple(freed),
            runs,
            log.passes_over + sum(map(len, self._running.values())) + 1,
        )
        if hand_over:
            mode.now.collected = collected
        log.loop.before_backward(number + 1 for number in numbers)
        begun = _Running(index, given, numbers if told else (), runs)
        self._running.setdefault(get_ident(), []).append(begun)
        return begun

    def _folded(self, collected: Collected) -> Folded[Node] | None:
        """Return the rows of a graph that is too large to be read node by node."""
        if not (self.log.scan.on or self.log.details.on):
            return None
        return folded_graph(collected.starts, collected)

    def fold_latest(self) -> None:
        """Read the graph of a large step that no pass has walked, if it is alive."""
        size = self.log.size
        latest = None if size.latest is None else size.latest()
        if latest is None:
            return
        size.latest = None
        folded = folded_graph(starts_of([latest]))
        if folded is not None:
            numbers, leaves, _ = self.ahead.fold(folded, [latest], _ignored)
            size.unwalked = (*[n + 1 for n in numbers], *[-n for n in leaves])

    # ---- before ---------------------------------------------------------------------

    def _stale(
        self, key: int, node: Node, slots: Slots, saved: Sequence[Saved]
    ) -> list[StaleSaved]:
        found: list[StaleSaved] = []
        for (slot, _, entry), known in zip(slots, saved, strict=False):
            if entry.is_stale:
                now = entry.storage.version
                found.append(StaleSaved(key, slot, known.value, now))
        if not found and self.log.scan.on:
            values = {each.slot: each.value for each in saved}
            found += self._silently_changed(key, node, values)
        return found

    def _silently_changed(
        self, key: int, node: Node, values: dict[str, Value]
    ) -> list[StaleSaved]:
        inner: Any = getattr(node, "inner", node)  # CopySlices: the write itself
        prints = _prints.get(inner)
        if prints is None:
            return []
        found: list[StaleSaved] = []
        for slot, expected, entry in zip(
            inner.slots, prints.values, inner.saved, strict=False
        ):
            name = f"_saved_{slot}"
            value = values.get(name)
            if expected is None or value is None or not _has_values(entry):
                continue
            if slot in _STATISTICS or entry.is_stale:
                continue
            if fingerprint(entry.array) != expected:
                after = self.log.exports.changed.get(value.storage)
                now = entry.version
                found.append(StaleSaved(key, name, value, now, True, after))
        return found

    # ---- after ----------------------------------------------------------------------

    def _end(self, ended: _Running, api: str, result: Any) -> None:
        try:
            self._leave(ended)
            self.since = next_sequence_nr()  # gradients are added up in place
            with self.log.quiet(), self.log.lock:
                event = self._event(ended.index) if api == "grad" else None
                if event is not None:
                    found = result.values() if isinstance(result, dict) else result
                    event.results = tuple([self._or_none(each) for each in found])
                if not _keeps(ended.given):
                    self._freeing.append((ended.index, ended.nodes))
                    eager = self.log.scan.on and not self.log.details.on
                    if eager or len(self._freeing) > MAX_NODES:
                        self.finish()
                self.log.loop.after_backward()
        except Exception as error:
            self.log.give_up("after a backward pass", error)

    def _leave(self, ended: _Running) -> None:
        """Note that a pass is over."""
        log, thread = self.log, get_ident()
        with log.lock:
            self._running[thread].remove(ended)
            if not self._running[thread]:
                del self._running[thread]
            log.scan.end_pass(ended.runs)
            if log.details.on:
                log.details.passed(ended.index, next_sequence_nr())
            log.last_index, log.passes_over = ended.index, log.passes_over + 1
            if self._running:
                return
            log.size.passed(len(log.reader.makers))
        if log.program.after_pass is not None:
            log.program.after_pass()

    def _or_none(self, gradient: Any) -> Value | None:
        return self.log.reader.seen(gradient) if isinstance(gradient, Tensor) else None

    def finish(self) -> None:
        """Make the rows that were put off, and say which passes freed them."""
        self.ahead.finish()
        rows = self.log.program.nodes
        for index, numbers in self._freeing:
            for number in numbers:
                row = rows.get(number + 1)
                if row is None or row.freed_by is not None:
                    continue
                if row.saved or row.key in self._refused:
                    row.freed_by = index
                    for saved in row.saved:
                        saved.freed = True
        self._freeing.clear()
        self._refused.clear()

    def _fail(self, ended: _Running, error: BaseException) -> None:
        try:
            self._leave(ended)
            self.since = sys.maxsize  # see that all that is left gets its rows
            event = self._event(ended.index)
            node = _running_node(error.__traceback__)
            if event is not None:
                event.error = f"{type(error).__name__}: {error}"
                event.error_node = None if node is None else self.log.reader.key(node)
            roots = roots_of(ended.given)
            collected = Collected(starts_of(roots))
            if self._folded(collected) is not None:
                return  # what is left of it was read before
            self.ahead.walk(roots, collected, _ignored, self.since)
        except Exception as failure:
            self.log.give_up("after a backward pass that raised", failure)
        self.since = next_sequence_nr()


def _keeps(given: dict[str, Any]) -> bool:
    """Tell whether a pass leaves the graph as it is."""
    keep = given.get("retain_graph")
    return bool(given.get("create_graph") if keep is None else keep)


def _ignored(*args: Any) -> None:
    return None


def _running_node(trace: TracebackType | None) -> Node | None:
    """Return the node whose turn it was, from the frames of the loop."""
    while trace is not None:
        if trace.tb_frame.f_code.co_name in _LOOPS:
            node = trace.tb_frame.f_locals.get("node")
            if isinstance(node, Node):
                return node
        trace = trace.tb_next
    return None
