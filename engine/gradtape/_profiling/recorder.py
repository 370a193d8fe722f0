"""What the profiler records while it is on: when each call began and ended.

Nothing here is looked at while no profiler is on: ops test ``mode.now.profile``, which
only the slow path does. Everything that can wait until the profiler stops does wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from time import perf_counter_ns as clock
from typing import Any

from .._common.site import user_stack
from .._graph.node import Node, next_sequence_nr
from .._modes.grad_mode import Switches, mode, recorders, threads, threads_lock
from .._tensor.tensor import Tensor
from .event import BACKWARD_FUNCTION, FUNCTION, USER_SCOPE, Event, MemoryLog, described

# Where there is one thread, as in a browser, Python does not ask the system about it.
get_native_id = getattr(threading, "get_native_id", threading.get_ident)

EVALUATE = "autograd::engine::evaluate_function: "


class Recorder:
    """The events of one profiling run, and what to record with each."""

    def __init__(
        self,
        shapes: bool = False,
        memory: bool = False,
        stacks: bool = False,
        modules: bool = False,
        every_thread: bool = False,
    ) -> None:
        self.shapes = shapes
        self.stacks = stacks
        self.modules = modules
        self.every_thread = every_thread
        self.events: list[Event] = []
        self.on = False
        self.start_ns = self.stop_ns = 0
        self.newest = -1  # the latest node made before the op that runs
        self.kind = "KINETO"
        self.memory = MemoryLog(self._thread) if memory else None
        # The system gives the number of a thread that ended to another one.
        self._threads: dict[Switches, tuple[int, int]] = {}
        self._outer: Event | None = None  # the node that a backward pass is at
        self._before: dict[Switches, Recorder | None] = {}  # whom it replaces

    # ---- on and off ----------------------------------------------------------------

    def start(self) -> None:
        """Record what this thread does, or all threads, from now on."""
        self.newest = next_sequence_nr()
        self.start_ns = clock()
        self.switch(True)

    def stop(self) -> None:
        """Stop recording. Blocks that are still open end here."""
        self.switch(False)
        self.stop_ns = clock()
        if self.memory is not None:
            self.memory.close()
        for event in self.events:
            event.end = event.end or self.stop_ns

    def switch(self, on: bool) -> None:
        """Pause or go on."""
        self.on = on
        with threads_lock:
            if on and self.every_thread:
                recorders.append(self)
            elif self in recorders:
                recorders.remove(self)
            for switches in list(threads):
                if not on and switches.profile is self:
                    switches.profile = self._before.get(switches)
                elif on and (self.every_thread or switches is mode.now):
                    self._before.setdefault(switches, switches.profile)
                    switches.profile = self
                switches.settle()

    def _resume(self, switches: Switches) -> None:
        """Go on after an op; it may have been stopped meanwhile, by another thread."""
        switches.profile = self if self.on else self._before.get(switches)
        if not self.on:
            switches.settle()

    # ---- one event -----------------------------------------------------------------

    def begin(
        self, name: str, scope: int = FUNCTION, inputs: Iterable[Any] | None = None
    ) -> Event:
        """Note that a call begins."""
        event = Event(name, scope)
        event.thread, event.native_thread = self._thread()
        if self.shapes and inputs is not None:
            event.inputs = [described(each) for each in inputs]
        if self.stacks:
            event.stack = user_stack()
        if self.modules:
            event.where = mode.now.scope
        self.events.append(event)
        event.first_node = next_sequence_nr()
        event.start = clock()
        return event

    def finish(self, event: Event) -> None:
        """Note that a call is over."""
        event.end = clock()
        event.last_node = next_sequence_nr()
        event.end_thread = self._thread()[0]

    def _thread(self) -> tuple[int, int]:
        """Return this thread's number, counted from 1, and the system's."""
        now, known = mode.now, self._threads
        found = known.get(now)
        if found is None:
            found = known.setdefault(now, (len(known) + 1, get_native_id()))
        return found

    @contextmanager
    def block(self, name: str) -> Generator[Event]:
        """Record what happens inside as a block with a name."""
        event = self.begin(name, USER_SCOPE)
        try:
            yield event
        finally:
            self.finish(event)

    def took(self, array: Any) -> None:
        """Note that a new tensor took memory, in the row where PyTorch counts it."""
        event = self.begin("aten::empty", FUNCTION, (array,))
        self._remember((array,), ())
        self.finish(event)

    def _remember(self, results: Any, inputs: Iterable[Any]) -> None:
        if self.memory is not None:
            if not isinstance(results, list | tuple):
                results = (results,)
            self.memory.took(results, inputs)

    # ---- forward -------------------------------------------------------------------

    def op(
        self,
        function: Callable[..., Any],
        op: Any,
        args: tuple[Any, ...],
        params: tuple[Any, ...],
        suffix: str = "",
    ) -> Any:
        """Run an op by the general path, with this recorder out of the way."""
        now = mode.now
        inputs = (*args, *(params or _DEFAULTS.get(op.name, ())))
        event = self.begin(f"aten::{op.name}{suffix}", FUNCTION, inputs)
        now.profile = None
        try:
            result = function(op, args, params)
            self._remember(result, args)
        finally:
            self._resume(now)
            self.finish(event)
        self._take_seq(event, (result,) if isinstance(result, Tensor) else result)
        return result

    def write(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        """Run ``inplace.commit(target, value, name, …)`` as an op of its own."""
        now = mode.now
        event = self.begin(f"aten::{args[2]}", FUNCTION, args[5])
        now.profile = None
        try:
            target = function(*args)
        finally:
            self._resume(now)
            self.finish(event)
        self._take_seq(event, (target,))
        return target

    def _take_seq(self, event: Event, outputs: Iterable[Tensor]) -> None:
        for output in outputs:
            node = output._grad_fn
            if node is not None and self.newest < node.seq:
                self.newest = event.seq = node.seq
                return

    def composite(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        inputs: Iterable[Any],
    ) -> Any:
        """Run a function made of ops."""
        event = self.begin(name, FUNCTION, inputs)
        event.call = True
        try:
            result = function(*args, **kwargs)
            self._remember(result, args)
        finally:
            self.finish(event)
        return result

    # ---- backward ------------------------------------------------------------------

    def enter(self, node: Node | None) -> None:
        """Note that a pass is at the next node, or through."""
        if self._outer is not None:
            self.finish(self._outer)
            self._outer = None
        if node is not None:
            self._outer = self.begin(EVALUATE + _name_of(node))
            self._outer.seq = -1 if node.accumulates else node.seq

    def runner(self, node: Node) -> Callable[[Any, Any], Any]:
        """Return ``node.run``, recorded."""

        def run(F: Any, grad: Any) -> Any:
            inputs = grad if isinstance(grad, list | tuple) else (grad,)
            event = self.begin(_name_of(node), BACKWARD_FUNCTION, inputs)
            event.seq, event.call = node.seq, True
            try:
                outgoing = node.run(F, grad)
                self._remember(outgoing, inputs)
            finally:
                self.finish(event)
            return outgoing

        return run

    def leaf(
        self,
        function: Callable[..., None],
        task: Any,
        leaf: Any,
        slots: Any,
        **more: Any,
    ) -> None:
        """Let a leaf take in its gradient, recorded."""
        event = self.begin(_name_of(leaf), BACKWARD_FUNCTION, slots[:1])
        before = leaf.variable._grad
        try:
            function(task, leaf, slots, **more)
            self._remember(leaf.variable._grad, (before,))
        finally:
            self.finish(event)

    def space(self, F: Any) -> Any:
        """Return the ops of a raw pass, each recorded as it runs."""
        return _RecordedSpace(self, F) if F.raw else F


def _name_of(node: Node) -> str:
    return "torch::autograd::AccumulateGrad" if node.accumulates else node.name()


_DEFAULTS: dict[str, tuple[Any, ...]] = {"add": (1,), "sub": (1,)}
"""What PyTorch's op takes beyond ours: ``alpha``."""


class _RecordedSpace:
    """Raw kernels under their names, each of which becomes an event when called."""

    raw = True
    owns = False

    def __init__(self, recorder: Recorder, inner: Any) -> None:
        self._recorder = recorder
        self._inner = inner
        self.unpack = inner.unpack
        self.keeping = self

    def __getattr__(self, name: str) -> Any:
        kernel, recorder = getattr(self._inner, name), self._recorder

        def recorded(*args: Any, **kwargs: Any) -> Any:
            event = recorder.begin(f"aten::{name}", FUNCTION, args)
            try:
                found = kernel(*args, **kwargs)
                recorder._remember(found, args)
            finally:
                recorder.finish(event)
            return found

        setattr(self, name, recorded)
        return recorded
