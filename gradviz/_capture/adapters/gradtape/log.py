"""The program log of a run on gradtape."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import CodeType, TracebackType
from typing import Any, ClassVar, Self

import gradtape
from gradtape._debug import (
    Tensor,
    after_write,
    calling,
    next_sequence_nr,
    observe_calls,
)
from gradviz._capture.adapters.gradtape.backward import Passes
from gradviz._capture.adapters.gradtape.call_events import CallEvents
from gradviz._capture.adapters.gradtape.call_fast_path import bind_simply
from gradviz._capture.adapters.gradtape.calls import Calls
from gradviz._capture.adapters.gradtape.data_calls import is_noted_aside
from gradviz._capture.adapters.gradtape.details import Details
from gradviz._capture.adapters.gradtape.grad_modes import Switches
from gradviz._capture.adapters.gradtape.numpy_exports import Exports
from gradviz._capture.adapters.gradtape.tensor_records import Reader
from gradviz._capture.adapters.gradtape.value_scan import Scan
from gradviz._capture.detail import Detail
from gradviz._capture.recorder.steps import (
    index_of,
    outlasting,
    unusual,
    without_asides,
)
from gradviz._capture.training_loop.log import LoopLog
from gradviz.program.events import Backward, Call, Event, Raised
from gradviz.program.log import MAX_EVENTS, MOST_WITHOUT_VALUES, Log
from gradviz.program.noted import Glance
from gradviz.program.records import Program
from gradviz.program.values import RawSite, Value


class GradtapeLog(Log):
    """Logs what its ``with`` block does on gradtape.

    ``scan`` also looks at the values of results and gradients. While it is open the log
    listens to what the engine announces.

    >>> import gradtape as torch
    >>> with GradtapeLog() as log:
    ...     x = torch.ones(2, requires_grad=True)
    ...     (x * x).sum().backward()
    >>> [getattr(event, "op", type(event).__name__) for event in log.program.events]
    ['ones', 'mul', 'sum', 'Backward']
    """

    def __init__(self, program: Program | None = None, *, scan: bool = True) -> None:
        super().__init__(Program("gradtape") if program is None else program)
        self.program.scanned = self.looks = scan
        self.most = MAX_EVENTS // 2 if scan else MOST_WITHOUT_VALUES
        self.size.fits(self.most)
        self.scan = Scan(scan)
        self.detail = Detail("full")  # every step
        self.reader = Reader(self.program, self.tensors, self.scan)
        self.exports = Exports()
        self.watchful = self.exports.shared  # while there is any
        self.loop = LoopLog(gradtape, self)
        self.details = Details(self)
        self.times: dict[int, int] = {}  # event index -> ns since the log was made
        self.last_index: int | None = None  # of the pass that ended last
        self.passes_over = 0
        self.forgotten = 0  # calls without a graph that made room for others
        self._stacks: deque[tuple[RawSite, ...]] = deque(maxlen=8)  # the latest
        self._begun_ns = time.perf_counter_ns()
        self.calls = Calls(self)
        self.simply = bind_simply(self)
        self.passes = Passes(self)
        self.switches = Switches(self)
        self._stack = ExitStack()

    _open: ClassVar[list[GradtapeLog]] = []
    """Of logs within each other the last is told what happens, and no other."""

    # ---- the with block -----------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self._install()
        except BaseException:
            self._stack.close()
            raise
        for around in self._open:
            around.muted += 1
        self._open.append(self)
        return self

    def _install(self) -> None:
        told = CallEvents(self, self.calls, self.passes, self.switches)
        self.on_exit(observe_calls(told))
        self.passes.install()
        after_write.append(self._wrote)
        self.on_exit(after_write.remove, self._wrote)
        self.loop.__enter__()

    def on_exit(self, call: Any, *args: Any) -> None:
        """Call something when the log is closed."""
        self._stack.callback(call, *args)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self.pause()
        for around in self._open[: self._open.index(self)]:
            around.muted -= 1
        self._open.remove(self)
        try:
            self.passes.fold_latest()
            self.passes.finish()
            self.loop.__exit__(kind, error, trace)
        finally:
            self._stack.close()
            self.resume()
        if error is not None:
            self.raised(error)

    def refresh(self) -> None:
        """Bring names and tables up to date; the log stays open."""
        with self.quiet():
            self.passes.fold_latest()
            self.passes.finish()
            self.loop.refresh()

    def watch_details(self, steps: int, thumbnails: bool = False) -> None:
        """Note also what only a picture of the graph needs: times, ops, moments.

        ``thumbnails`` also asks for samples of all that is looked at.
        """
        samples = self.scan.samples
        samples.on = samples.on or (thumbnails and self.scan.on)
        samples.steps = max(samples.steps, steps)
        self.details.kept = max(self.details.kept, steps)
        if not self.details.on:
            self.details.on = self.reader.detailed = self.scan.detailed = True
            self.calls.stacks = self.watchful = True
            self.reader.met_late = self.details.earlier
            if not self.scan.on:
                self.passes.listen()

    @property
    def last_pass(self) -> Event | None:
        """The event of the pass that ended last."""
        return self.program.event(self.last_index)

    def preflight(self, *roots: Tensor) -> Backward:
        """Add the event of a backward pass from these roots, without running it."""
        return self.passes.preflight(*roots)

    def add(self, event: Event) -> None:
        """Append an event."""
        self.program.raw.append(event)
        writes = event.writes if isinstance(event, Call) else ()
        self.added(event.index, [write.storage for write in writes])

    def added(self, index: int, written: Sequence[int] = ()) -> None:
        """See to what an event changes: old ones go, shared memory is looked at."""
        self.size.grew(len(self.reader.makers))
        if self.details.on:
            self.times[index] = time.perf_counter_ns() - self._begun_ns
        if len(self.program.raw) > self.most:
            self._drop()
        if self.exports.shared:
            for storage in self.exports.look(index, written):
                self.reader.changed(storage)

    def _drop(self) -> None:
        """Drop the older half of the events, and nodes that only they tell of.

        Where most of them are calls without a graph, only those go.
        """
        self.forget_facts()
        raw, nodes = self.program.raw, self.program.nodes
        half = len(raw) // 2
        kept = without_asides(raw, half, is_noted_aside)
        if kept is not None:
            self.program.drop(half, kept)
            self.forgotten += half - len(kept)
            return
        if self.size.counting:  # the beginning of a step tells more than its middle
            self.program.drop(half, raw[: half // 2])
            return
        self.passes.finish()
        wanted = {each.index for each in unusual(self._passes_noted())}
        first = next(self._passes_noted(), None)
        half, steps = outlasting(raw, half, first, wanted, self.program.gaps)
        oldest, kept = index_of(raw[half]), set(map(index_of, steps))
        self.program.drop(half, steps)
        self.size.forgot(self.reader.forget(oldest))
        times = self.times.items()
        self.times = {at: ns for at, ns in times if at >= oldest or at in kept}
        for key, row in list(nodes.items()):
            last = row.call if row.freed_by is None else row.freed_by
            if last is not None and last < oldest and last not in kept:
                del nodes[key]

    def _passes_noted(self) -> Iterator[Backward]:
        """Yield the passes that are in the log still, in order."""
        for each in self.program.passes_and_updates(0):
            if isinstance(each, Backward):
                yield each

    # ---- what the parts share -------------------------------------------------------

    def stack(self) -> tuple[RawSite, ...]:
        """Return the user's frames around the innermost one; a stack is shared."""
        return self.shared(super().stack())

    def place(self) -> tuple[CodeType | None, int, tuple[RawSite, ...]]:
        """Return code and instruction of the innermost frame, and those around it."""
        frame = self.frame()
        if frame is None:
            return None, 0, ()
        return frame.f_code, frame.f_lasti, self.shared(self.outside(frame))

    def shared(self, stack: tuple[RawSite, ...]) -> tuple[RawSite, ...]:
        """Return the stack that was noted last and is equal, if there is one."""
        for each in self._stacks:
            if each == stack:
                return each
        self._stacks.append(stack)
        return stack

    def value(self, tensor: Any) -> Value:
        """Describe a tensor as it is now."""
        return self.reader.value(tensor)

    def glance(self, tensor: Any) -> Glance:
        """Describe a tensor in short."""
        return self.reader.look(tensor)

    def node_key(self, node: Any) -> int:
        """Return the key of a backward function."""
        return self.reader.key(node)

    def gradients(self, params: list[Any]) -> tuple[list[bool], list[bool]]:
        """Tell which tensors have a gradient, and which ask for one."""
        has = [param._grad is not None for param in params]  # no detour by a property
        return has, [param._needs or param.requires_grad for param in params]

    def unheard(self) -> AbstractContextManager[Any]:
        """Let something be computed without graph."""
        return gradtape.no_grad()

    def versions(self, params: list[Any]) -> list[int]:
        """Return how often the memory of tensors was written."""
        return [
            0
            if (memory := param._memory) is None or memory.inference
            else memory.version
            for param in params
        ]

    def pause(self) -> None:
        """Log no calls of this thread until :meth:`resume`."""
        calling.now.depth += 1

    def resume(self) -> None:
        """End the last :meth:`pause`."""
        calling.now.depth -= 1

    @contextmanager
    def quiet(self) -> Generator[None, None, None]:
        """Log no calls of this thread inside."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def give_up(self, where: str, error: BaseException) -> None:
        """Note that a part of the log failed; the user's program goes on."""
        text = f"The log is incomplete {where}: {type(error).__name__}: {error}"
        if text not in self.program.notes and len(self.program.notes) < _MOST_NOTES:
            self.program.notes.append(text)

    def _wrote(self, target: Tensor, op: str, version: int) -> None:
        self.passes.since = next_sequence_nr()
        if self.muted or self.size.writes_too:
            self.reader.changed(self.reader.storage(target._data))
            return
        if calling.now.depth and calling.now.call is None:
            return  # whoever muted us tells of it
        try:
            self.calls.wrote(target, op, version)
        except Exception as error:
            self.give_up(f"at a write of {op}", error)

    def raised(self, error: BaseException) -> None:
        """Log that an exception left the recorded code; the log stays open."""
        if isinstance(error, SystemExit):
            return
        with self.quiet():
            self.passes.finish()
            self.loop.refresh(error.__traceback__)
        sites = _sites(error.__traceback__, self.user_files)
        self.add(
            Raised(
                index=self.take_index(),
                site=sites[-1] if sites else None,
                stack=tuple(sites[-2::-1]),
                kind=type(error).__name__,
                text=str(error),
            )
        )


_MOST_NOTES = 20


def _sites(trace: TracebackType | None, user_files: Any) -> list[Any]:
    """Return the user's frames of a traceback, outermost first."""
    found: list[Any] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if user_files[code.co_filename]:
            found.append((code, trace.tb_lasti))
        trace = trace.tb_next
    return found
