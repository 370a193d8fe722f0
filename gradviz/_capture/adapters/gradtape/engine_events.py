"""What the engine announces while a log is open: ops, turns of nodes, and hooks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from gradtape._debug import calling, events, mode
from gradviz._capture.adapters.gradtape.context import GradtapeContext
from gradviz._capture.adapters.gradtape.op_facts import shown_name, tensors_in
from gradviz._capture.adapters.gradtape.runs import PassRuns
from gradviz._capture.names.user_code import is_probing
from gradviz.program.events import Call, HookRan

_RUN_AS_WRITTEN = ("checkpoint", "recompute")
"""What a call may be within while its ops are still the user's main line."""


class Listener:
    """Fills in what happens within a pass, and ops behind nodes and beside calls."""

    def __init__(self, log: GradtapeContext) -> None:
        self._log = log
        # By node, those that have not ended: runs, place among them, beginning.
        self._turns: dict[int, tuple[PassRuns, int, int]] = {}
        self._hooks: list[HookRan] = []  # those that have not returned
        self._handlers: dict[type, Callable[[Any], None]] = {
            events.NodeEntered: self._on_enter,
            events.NodeLeft: self._on_leave,
            events.GradAccumulated: self._on_leaf,
            events.HookRan: self._on_hook,
            events.HookReturned: self._on_hook_end,
            events.OpCalled: self._on_op,
        }

    def __call__(self, event: events.Event) -> None:
        handler = self._handlers.get(type(event))
        if handler is None or is_probing():
            return
        try:
            with self._log.lock:
                handler(event)
        except Exception as error:
            self._log.give_up(f"at an event {type(event).__name__}", error)

    def _on_enter(self, event: events.NodeEntered) -> None:
        log, key = self._log, event.node.seq + 1
        if log.size.counting and key not in log.program.nodes:
            return  # of a graph that is folded
        runs = log.passes.runs
        if runs is not None:
            place = runs.enter(key, event.gradients, log.scan)
            self._turns[key] = runs, place, perf_counter_ns()

    def _on_leave(self, event: events.NodeLeft) -> None:
        ended, node, log = perf_counter_ns(), event.node, self._log
        turn = self._turns.pop(node.seq + 1, None)
        if turn is not None:
            runs, place, began = turn
            given = event.gradients
            if None in node.nodes:
                pairs = zip(node.nodes, given, strict=False)
                given = [None if to is None else each for to, each in pairs]
            elapsed = ended - began if log.details.on else None
            runs.leave(place, given, log.scan, elapsed)

    def _on_leaf(self, event: events.GradAccumulated) -> None:
        log = self._log
        runs = log.passes.runs
        if runs is not None:
            grad = event.tensor._grad
            key = log.reader.key(event.node)
            before = None
            if log.details.on and not event.first and grad is not None:
                before = grad._data
            runs.accumulated(key, event.gradient, before, log.scan)

    def _on_hook(self, event: events.HookRan) -> None:
        log = self._log
        if log.details.on and log.passes.runs is not None:
            log.details.hook(event, log.passes.index, log.passes.runs.count)
        known = log.passes.hooks.get(event.key)
        if known is None:
            return
        ran = HookRan(
            index=log.take_index(),
            site=None if known.code is None else (known.code, 0),
            thread=threading.get_ident(),
            hook=event.key,
        )
        self._hooks.append(ran)
        log.add(ran)

    def _on_hook_end(self, event: events.HookReturned) -> None:
        for ran in reversed(self._hooks):
            if ran.hook == event.key:
                ran.changed, ran.returned = event.wrote, event.replaced
                self._hooks.remove(ran)
                return

    def _on_op(self, event: events.OpCalled) -> None:
        log = self._log
        if log.size.counting:
            return
        if log.details.on:
            log.details.op(event)
        if calling.now.depth or log.passes.runs is not None or log.muted:
            return
        around = log.program.event(log.loop.here.now.within)
        if around is None or getattr(around, "op", "") in _RUN_AS_WRITTEN:
            self._unannounced(event)

    def _unannounced(self, event: events.OpCalled) -> None:
        """Log an op that the user reached by a name that is not announced."""
        log = self._log
        site = log.site()
        if site is None or site == log.loop.step_site:
            return
        call = Call(
            index=log.take_index(),
            op=shown_name(event.name),
            site=site,
            stack=log.stack(),
            thread=threading.get_ident(),
            inputs=tuple([log.reader.seen(t) for t in tensors_in(event.inputs)]),
            outputs=tuple([log.reader.seen(t) for t in event.outputs]),
            grad_enabled=mode.now.grad,
            inference=mode.now.inference,
            module=log.loop.here.now.module,
            within=log.loop.here.now.within,
        )
        log.add(call)
        if event.node is not None:
            log.reader.called(
                call.index, call.module, event.node.seq - 1, event.outputs
            )
