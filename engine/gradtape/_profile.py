"""What the profiler records while it is on: when each call began and ended.

Nothing here is looked at while no profiler is on: ops test ``mode.now.profile``, which
only the slow path does. Everything that can wait until the profiler stops does wait.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns as clock
from typing import Any

from ._mode import Switches, mode, threads, threads_lock
from ._node import Node, next_sequence_nr
from ._site import RawSite, user_stack
from ._tensor import Tensor

FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7
"""PyTorch's RecordScope: an op, the run of a node, a block that the user named."""

_next_id = itertools.count(1).__next__
EVALUATE = "autograd::engine::evaluate_function: "


class Event:
    """One call. Times are ns of ``perf_counter``; ``end`` is 0 until it is over."""

    __slots__ = (
        "call",
        "end",
        "end_thread",
        "first_node",
        "id",
        "inputs",
        "last_node",
        "name",
        "nbytes",
        "native_thread",
        "note",
        "scope",
        "seq",
        "stack",
        "start",
        "thread",
        "where",
    )

    def __init__(self, name: str, scope: int) -> None:
        self.id = _next_id()
        self.name = name
        self.scope = scope
        self.end = 0
        self.end_thread = 0
        self.last_node = 0  # nodes made meanwhile have numbers in between
        self.seq = -1  # of the node it made, or that it is the run of
        self.nbytes = 0  # memory taken for results
        self.inputs: Sequence[Any] = ()  # described arguments, see `described`
        self.note: Any = None  # keywords of a named block
        self.stack: tuple[RawSite, ...] = ()
        self.call = False  # made of other ops: its sequence number is theirs
        self.where: Any = None  # the module call it belongs to


class Recorder:
    """The events of one profiling run, and what to record with each."""

    def __init__(
        self,
        shapes: bool = False,
        stacks: bool = False,
        modules: bool = False,
        every_thread: bool = False,
    ) -> None:
        self.shapes = shapes
        self.stacks = stacks
        self.modules = modules
        self.every_thread = every_thread
        self.events: list[Event] = []
        self.start_ns = self.stop_ns = 0
        self.newest = -1  # the latest node made before the op that runs
        self._thread_numbers: dict[int, int] = {}
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
        for event in self.events:
            event.end = event.end or self.stop_ns

    def switch(self, on: bool) -> None:
        """Pause or go on."""
        with threads_lock:
            for switches in list(threads) if self.every_thread else [mode.now]:
                if on:
                    self._before.setdefault(switches, switches.profile)
                switches.profile = self if on else self._before.get(switches)
                switches.settle()

    # ---- one event -----------------------------------------------------------------

    def begin(
        self, name: str, scope: int = FUNCTION, inputs: Iterable[Any] | None = None
    ) -> Event:
        """Note that a call begins."""
        event = Event(name, scope)
        ident = threading.get_ident()
        known = self._thread_numbers
        event.thread = known.get(ident) or known.setdefault(ident, len(known) + 1)
        event.native_thread = threading.get_native_id()
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
        event.end_thread = self._thread_numbers.get(threading.get_ident(), 0)

    @contextmanager
    def block(self, name: str) -> Iterator[Event]:
        """Record what happens inside as a block with a name."""
        event = self.begin(name, USER_SCOPE)
        try:
            yield event
        finally:
            self.finish(event)

    def took(self, array: Any) -> None:
        """Note that a new tensor took memory, in the row where PyTorch counts it."""
        event = self.begin("aten::empty", FUNCTION, (array,))
        event.nbytes = array.nbytes
        self.finish(event)

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
        inputs = (*args, *params, *_DEFAULTS.get(op.name, ()))
        event = self.begin(f"aten::{op.name}{suffix}", FUNCTION, inputs)
        now.profile = None
        try:
            result = function(op, args, params)
        finally:
            now.profile = self
            self.finish(event)
        outputs = (result,) if isinstance(result, Tensor) else result
        self._take_seq(event, outputs)
        if op.view is None and not suffix:
            event.nbytes = sum(each._data.nbytes for each in outputs)
        return result

    def write(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        """Run ``_inplace.commit(target, value, name, …)`` as an op of its own."""
        now = mode.now
        event = self.begin(f"aten::{args[2]}", FUNCTION, args[5])
        now.profile = None
        try:
            target = function(*args)
        finally:
            now.profile = self
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
    ) -> Any:
        """Run a function made of ops."""
        event = self.begin(name, FUNCTION, (*args, *kwargs.values()))
        event.call = True
        try:
            result = function(*args, **kwargs)
        finally:
            self.finish(event)
        if isinstance(result, Tensor) and result._grad_fn is None:
            event.nbytes = _fresh_bytes((result,), args)
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
            finally:
                self.finish(event)
            event.nbytes = _fresh_bytes(outgoing, inputs)
            return outgoing

        return run

    def leaf(
        self, function: Callable[..., None], task: Any, leaf: Any, slots: Any, **more: Any
    ) -> None:
        """Let a leaf take in its gradient, recorded."""
        event = self.begin(_name_of(leaf), BACKWARD_FUNCTION, slots[:1])
        empty = leaf.variable._grad is None
        try:
            function(task, leaf, slots, **more)
        finally:
            self.finish(event)
        taken = leaf.variable._grad
        event.nbytes = taken._data.nbytes if empty and taken is not None else 0

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

    def __init__(self, recorder: Recorder, inner: Any) -> None:
        self._recorder = recorder
        self._inner = inner
        self.unpack = inner.unpack

    def __getattr__(self, name: str) -> Any:
        kernel, recorder = getattr(self._inner, name), self._recorder

        def recorded(*args: Any, **kwargs: Any) -> Any:
            event = recorder.begin(f"aten::{name}", FUNCTION, args)
            try:
                found = kernel(*args, **kwargs)
            finally:
                recorder.finish(event)
            several = found if isinstance(found, tuple) else (found,)
            event.nbytes = _fresh_bytes(several, args)
            return found

        setattr(self, name, recorded)
        return recorded


def _fresh_bytes(results: Iterable[Any], inputs: Iterable[Any]) -> int:
    """Return what results take that are neither views nor operands handed through."""
    known = {id(getattr(each, "_data", each)) for each in inputs}
    arrays = [getattr(each, "_data", each) for each in results]
    return sum(
        array.nbytes
        for array in arrays
        if getattr(array, "base", 0) is None and id(array) not in known
    )


def described(value: Any) -> Any:
    """Keep of an argument what a report tells, not its memory."""
    if isinstance(value, Tensor):
        value = value._data
    if hasattr(value, "strides") and hasattr(value, "dtype"):
        item = value.dtype.itemsize
        strides = [step // item for step in value.strides]
        return Described(list(value.shape), strides, value.dtype)
    if isinstance(value, list | tuple):
        return [described(each) for each in value]
    return value


class Described:
    """An array that was an argument."""

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape: list[int], strides: list[int], dtype: Any) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
