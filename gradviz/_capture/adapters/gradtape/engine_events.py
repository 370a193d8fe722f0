"""What the engine itself announces while a log is open: turns of nodes, and hooks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gradtape._debug import events, mode
from gradviz._capture.adapters.gradtape.calls import here
from gradviz._capture.adapters.gradtape.op_facts import shown_name, tensors_in
from gradviz.program.events import Backward, Call, HookRan
from gradviz.program.values import NodeRun

if TYPE_CHECKING:
    from gradviz._capture.adapters.gradtape.log import GradtapeLog


class Listener:
    """Fills in what happens within a pass, and calls that nothing stood in for."""

    def __init__(self, log: GradtapeLog) -> None:
        self._log = log
        self._turns: dict[int, NodeRun] = {}  # by node: those that have not ended
        self._hooks: list[HookRan] = []  # those that have not returned

    def __call__(self, event: events.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is None:
            return
        try:
            with self._log.lock:
                handler(self, event, self._log.passes.running())
        except Exception as error:
            self._log.give_up(f"at an event {type(event).__name__}", error)

    def _on_enter(self, event: events.NodeEntered, running: Backward | None) -> None:
        if running is None:
            return
        key = self._log.reader.key(event.node)
        summary = self._log.scan.summary
        run = NodeRun(key, tuple([summary(each) for each in event.gradients]), ())
        self._turns[key] = run
        running.runs.append(run)

    def _on_leave(self, event: events.NodeLeft, running: Backward | None) -> None:
        run = self._turns.pop(self._log.reader.key(event.node), None)
        if run is not None:
            summary = self._log.scan.summary
            run.outgoing = tuple([summary(each) for each in event.gradients])

    def _on_leaf(self, event: events.GradAccumulated, running: Backward | None) -> None:
        if running is not None:
            key = self._log.reader.key(event.node)
            summary = self._log.scan.summary(event.gradient)
            running.runs.append(NodeRun(key, (summary,), ()))

    def _on_hook(self, event: events.HookRan, running: Backward | None) -> None:
        log = self._log
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

    def _on_hook_end(
        self, event: events.HookReturned, running: Backward | None
    ) -> None:
        for ran in reversed(self._hooks):
            if ran.hook == event.key:
                ran.changed, ran.returned = event.wrote, event.replaced
                self._hooks.remove(ran)
                return

    def _on_op(self, event: events.OpCalled, running: Backward | None) -> None:
        """Log an op that the user reached by a name we do not stand in for."""
        log = self._log
        if here.now.busy or running is not None or log.loop.here.now.within is not None:
            return
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
        )
        log.add(call)
        if event.node is not None:
            log.reader.called(
                call.index, call.module, event.node.seq - 1, event.outputs
            )


_HANDLERS: dict[type, Any] = {
    events.NodeEntered: Listener._on_enter,
    events.NodeLeft: Listener._on_leave,
    events.GradAccumulated: Listener._on_leaf,
    events.HookRan: Listener._on_hook,
    events.HookReturned: Listener._on_hook_end,
    events.OpCalled: Listener._on_op,
}
