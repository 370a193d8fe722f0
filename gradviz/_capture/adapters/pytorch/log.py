"""The program log of PyTorch: records a block without changing what it computes."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from gradviz._capture.adapters.pytorch.backward import TorchBackward
from gradviz._capture.adapters.pytorch.bypass_mode import bypass_mode
from gradviz._capture.adapters.pytorch.calls import TorchCalls
from gradviz._capture.adapters.pytorch.compiled import TorchCompiled
from gradviz._capture.adapters.pytorch.data_calls import is_noted_aside
from gradviz._capture.adapters.pytorch.fresh_outputs import fresh_output_of
from gradviz._capture.adapters.pytorch.grad_modes import TorchModes
from gradviz._capture.adapters.pytorch.graph.nodes import TorchGraph
from gradviz._capture.adapters.pytorch.graph.tensor_table import IS_LEAF
from gradviz._capture.adapters.pytorch.hooks import TorchHooks
from gradviz._capture.adapters.pytorch.isolation import Isolated, is_opaque
from gradviz._capture.adapters.pytorch.known_modules.modules import KnownModules
from gradviz._capture.adapters.pytorch.mode_entry import shorten_entry
from gradviz._capture.adapters.pytorch.nonfinite_check import NonfiniteCheck
from gradviz._capture.adapters.pytorch.numpy_exports import Exports
from gradviz._capture.adapters.pytorch.regions import Regions
from gradviz._capture.adapters.pytorch.scripted import TorchScripted
from gradviz._capture.adapters.pytorch.tensor_records import TorchValues
from gradviz._capture.adapters.pytorch.tracebacks import without_our_frames
from gradviz._capture.adapters.pytorch.warning_sites import name_users
from gradviz._capture.detail import Detail
from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.recorder.raw import KEPT_STEPS
from gradviz._capture.recorder.steps import (
    begins_step,
    index_of,
    last_passes,
    outlasting,
    unusual,
    without_asides,
)
from gradviz._capture.training_loop.log import LoopLog
from gradviz._capture.training_loop.patches import Patches, Place, unseen
from gradviz.program.events import Backward, Call, Raised
from gradviz.program.log import MAX_EVENTS, MOST_WITHOUT_VALUES, Log
from gradviz.program.noted import Glance
from gradviz.program.records import Program
from gradviz.program.values import RawSite, Value

if TYPE_CHECKING:
    from gradviz._capture.training_loop.log import LoopLog


class TorchFrames(Log):
    """The part of the log that walks the stack: at every call, so it stops early."""

    loop: LoopLog
    brief: bool  # neither values nor the frames further out are looked at

    def place(self) -> tuple[RawSite | None, tuple[RawSite, ...]]:
        """Return the user's innermost frame, and the user's frames around it."""
        return (self.site(), ()) if self.brief else self.place_of_pass()

    def place_of_pass(self) -> tuple[RawSite | None, tuple[RawSite, ...]]:
        """Return the same of a pass, always with the frames around it.

        Those tell which passes run in the closure of a step.
        """
        frame = self.frame()
        if frame is None:
            return None, ()
        return (frame.f_code, frame.f_lasti), self.outside(frame)

    def found_from(
        self, frame: FrameType, place: Place
    ) -> tuple[CodeType | None, int, tuple[RawSite, ...]]:
        """Return code and instruction of the user's innermost frame from here out.

        Third come the frames around it. Where they are not wanted, the innermost call
        of a module knows the line: between it and here nobody looks again.
        """
        user, known = self.user_files, None
        if self.brief:
            known = place.site
        while not user[(code := frame.f_code).co_filename]:
            if known is not None and (
                code is place.forward or code is self.loop.modules.call_code
            ):
                return *known, ()
            if frame.f_back is None:
                return None, 0, ()
            frame = frame.f_back
        return code, frame.f_lasti, self.around(frame)

    def around(self, frame: FrameType | None) -> tuple[RawSite, ...]:
        """Return the user's frames further out; () where nobody looks at values."""
        if frame is None or self.brief:
            return ()
        return self.outside(frame)


_MOST_FAILURES = 20  # of ours, before the log ends
_LONGEST_REASON = 200  # characters of an error of ours


class TorchLog(TorchFrames):
    """Logs what a block does with PyTorch.

    ``scan`` also looks at the values of every result and gradient. Without it a log
    costs little enough to stay on; ``detail`` says in which steps that is done.
    ``keep_compiled`` leaves compiled regions as they are, each logged as one call.
    """

    _open: ClassVar[list[TorchLog]] = []  # outermost first

    def __init__(
        self,
        program: Program | None = None,
        *,
        scan: bool = True,
        keep_compiled: bool = False,
        detail: Detail | None = None,
    ) -> None:
        super().__init__(program or Program("torch"))
        import torch

        self.torch: Any = torch
        self.unasked = torch._C.DisableTorchFunction
        self.scan = self._scans = self.looks = self.program.scanned = scan
        self.brief = not scan
        self.detail = detail or Detail("full")
        self.samples = scan and self.detail.how == "auto"
        whole = scan and not self.samples
        self.most = MAX_EVENTS if whole else MOST_WITHOUT_VALUES
        self.size.fits(self.most)
        self._ending = False  # the next step is to be looked at in brief
        self.whole = True  # values were looked at since the last pass
        self.unusual = False  # something was noticed since
        self.leaves_told: tuple[tuple[int, int], ...] = ()  # by the last pass in brief
        self.on = False
        self.loop = LoopLog(torch, self)
        self.here = self.loop.here
        self.library = os.path.dirname(str(torch.__file__)) + os.sep
        self.values = TorchValues(torch, self, scan)
        self.fresh_output = fresh_output_of(self.values)
        self.exports = Exports(torch, self.values)
        self.graph = TorchGraph(torch, self)
        self.nonfinite = NonfiniteCheck(torch, self)
        self.modes = TorchModes(torch, self)
        self.hooks = TorchHooks(torch, self)
        self.calls = TorchCalls(torch, self, self.graph, self.hooks, self.modes)
        self.loop.modules.fast_path = KnownModules(torch, self, self.calls)
        self.passes = TorchBackward(torch, self, self.graph, self.hooks.own)
        regions = Regions(self, self.calls)
        self.compiled = TorchCompiled(torch, self, regions, keep=keep_compiled)
        self.scripted = TorchScripted(torch, self, regions)
        self.detailed = False
        self._pictured = 0  # so many steps, once a graph is recorded too
        self.watchful = self.samples
        self._failures = 0
        self.times: dict[int, int] = {}  # event index -> ns since the log was made
        self._begun_ns = time.perf_counter_ns()
        self._pauses: list[Any] = []  # our mode where it stepped aside, or None
        self._next_number = self.torch._C._autograd._get_sequence_nr
        self.size.began = self._next_number()
        self._depth = torch._C._len_torch_function_stack
        self._at = torch._C._get_function_stack_at
        self._pop = torch._C._pop_torch_function_stack
        self._push = torch._C._push_on_torch_function_stack
        self._patches = Patches()
        self._installed = ExitStack()

    # ---- the with block ------------------------------------------------------------

    @classmethod
    def innermost(cls) -> TorchLog | None:
        """Return the log that was opened last and is open still."""
        return cls._open[-1] if cls._open else None

    def __enter__(self) -> Self:
        with ExitStack() as installed:
            self._install(installed)
            self._installed = installed.pop_all()
        self._open.append(self)
        return self

    def _install(self, installed: ExitStack) -> None:
        """Put everything in place; the stack knows beforehand how to undo it."""
        self.on, self.program.thread = True, threading.get_ident()
        installed.callback(setattr, self, "on", False)
        regions = self.compiled, self.scripted
        for part in (self.modes, self.hooks, *regions, self.passes):
            installed.callback(part.remove)
            part.install()
        installed.callback(self._patches.restore)
        from_numpy = self._logged(self.torch.from_numpy)
        self._patches.set(self.torch, "from_numpy", from_numpy)
        shorten_entry(self.torch, self.calls.mode, self._patches)
        bypass_mode(self.torch, self, self._patches)
        name_users(self._patches)
        self.loop.__enter__()
        installed.callback(self.loop.remove)
        self.calls.mode.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.calls.mode.__exit__(kind, error, trace)
        self._open.remove(self)
        with self._installed:
            if error is not None and not isinstance(error, SystemExit):
                self.raised(error)
            with self.torch._C.DisableTorchFunction():
                self.try_(self.graph.read_living)
                self.loop.__exit__(kind, error, trace)

    def raised(self, error: BaseException) -> None:
        """Log an exception that left the user's code, and take our frames off it."""
        self.try_(self.graph.read_living)
        self.try_(self.loop.refresh, error.__traceback__)
        self.try_(self._raised, error)
        without_our_frames(error)

    def refresh(self) -> None:
        """Bring names and tables up to date, for whoever reads the log now."""
        self.try_(self.graph.read_living)
        self.try_(self.loop.refresh)

    def preflight(self, loss: Any) -> Backward | None:
        """Log the pass that ``loss.backward()`` would begin here; do not run it."""
        self.pause()
        try:
            return self.try_(self.passes.preflight, loss)
        finally:
            self.resume()

    def _logged(self, original: Any) -> Any:
        """Wrap a function that the function mode does not see."""

        @unseen
        def from_numpy(*args: Any, **kwargs: Any) -> Any:
            if not self.on or self.muted or not self.is_home():
                return original(*args, **kwargs)
            return self.calls.mode.__torch_function__(original, (), args, kwargs)

        return from_numpy

    def _raised(self, error: BaseException) -> None:
        sites: list[RawSite] = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if self.user_files[code.co_filename]:
                sites.append((code, trace.tb_lasti))
            trace = trace.tb_next
        sites.reverse()
        self.append(
            Raised(
                index=0,
                site=sites[0] if sites else None,
                stack=tuple(sites[1:]),
                thread=threading.get_ident(),
                kind=type(error).__name__,
                text=str(error),
            )
        )

    @property
    def last_pass(self) -> Backward | None:
        """The pass that ended last, where its graph was read."""
        return self.passes.last

    @property
    def passes_over(self) -> int:
        """How many passes have ended."""
        return self.passes.over

    # ---- for the parts -------------------------------------------------------------

    def watch_details(self, steps: int = KEPT_STEPS, thumbnails: bool = False) -> None:
        """Note also times, sizes, moments: what a picture of the last steps needs.

        ``thumbnails`` also asks for samples of what is looked at in full.
        """
        samples = self.values.samples
        samples.on = samples.on or (thumbnails and self._scans)
        samples.steps = max(samples.steps, steps)
        self._pictured, self.samples = steps, self.detail.how == "auto"
        self.graph.ahead.few = 1  # besides those that are looked at in full
        self.look_in_full(True)

    def look_in_full(self, full: bool) -> None:
        """Look at values and gradients, as far as they are wanted, from here on."""
        self.scan = self.looks = self.values.scan = full and self._scans
        self.detailed = full and self._pictured > 0
        self.values.detailed = self.graph.detailed = self.detailed
        self.brief = not (self.scan or self.detailed)
        self.watchful = self.detailed or (full and self.samples)
        self.skims = self.brief and self.samples
        self.detail.looks_in_full(not self.brief)
        self._ending = False
        self.values.describe_anew()

    def step_ended(self) -> None:
        """Decide how the next step is looked at, now that a pass is over."""
        self.values.samples.passes += not self.brief
        if not self.samples:
            return
        self.nonfinite.settle()
        full = self.detail.ended(not self.brief)
        if full and self.brief:
            self.look_in_full(True)
        self.whole, self.unusual = full, False
        self._ending = not full and not self.brief

    def meets_new(self) -> None:
        """Look in full at a pass that is like none before, if that is affordable."""
        if self.samples and self.brief and self.detail.affords_new():
            self.look_in_full(True)

    def notice(self) -> None:
        """Go on in full: something unusual came up."""
        self.detail.noticed()
        self.look_in_full(True)
        self.whole = self.unusual = True

    def read_graph(self, node: Any) -> None:
        """Read what is not known yet of the graph behind a node."""
        with self.unasked():
            self.graph.read(node)

    def added(self, index: int) -> None:
        """Note when an event came; drop the oldest half when there are too many."""
        if not self.brief:
            self.size.grew(self._next_number())
        if self.detailed:
            self.came(index)
        if self.samples and not self.brief:
            self._added_in_full(self.program.raw[-1])
        if len(self.program.raw) > self.most:
            self._drop_old()

    def came(self, index: int) -> None:
        """Note when an event came, where a graph is recorded too."""
        if self._pictured:
            self.times[index] = time.perf_counter_ns() - self._begun_ns

    def _added_in_full(self, noted: Any) -> None:
        """End full detail where a step begins that is to be looked at in brief."""
        if self._ending:
            if begins_step(noted):
                self.look_in_full(False)
        elif is_noted_aside(noted) and not self.detail.passed_by():
            self.look_in_full(False)
            self.whole = False  # of the step that goes on, not all calls are told

    def _drop_old(self) -> None:
        """Drop the older half of the events, and what they made.

        Where most of them are calls that no gradient concerns, only those go. Nor are
        steps in brief to drive out the first and the last that were looked at in full.
        """
        self.forget_facts()
        raw = self.program.raw
        half = len(raw) // 2
        kept = without_asides(raw, half, is_noted_aside)
        if kept is not None:
            self.program.drop(half, kept)
            return
        if self.size.counting:  # the beginning of a step tells more than its middle
            self.program.drop(half, raw[: half // 2])
            return
        first = next((each for each in raw if isinstance(each, Backward)), None)
        half, steps = outlasting(raw, half, first, self._lasting(), self.program.gaps)
        oldest = index_of(raw[half])
        self.program.drop(half, steps)
        older = set(map(index_of, steps))
        self.graph.forget(oldest, older)
        times = self.times.items()
        self.times = {at: ns for at, ns in times if at >= oldest or at in older}

    def _lasting(self) -> set[int]:
        """Return the passes that outlive others: told in full, or the first odd ones.

        As many as a picture has, also where nobody wants one: findings are the same.
        """
        passes = [e for e in self.program.raw if isinstance(e, Backward)]
        told = [each for each in passes if each.runs and each.whole]
        found = last_passes(told, self._pictured or KEPT_STEPS)
        return {event.index for event in (*found, *unusual(passes))}

    def tensor(self, tensor: Any) -> int:
        """Return the number of a tensor; its row of facts opens when there are any."""
        return self.tensors.of(tensor)

    def is_home(self) -> bool:
        """Whether this is the recording thread; others are named in the notes."""
        if threading.get_ident() == self.program.thread:
            return self.on
        note = (
            f"Thread {threading.current_thread().name!r} used PyTorch too; only the "
            "thread that began the recording is seen. Use gradviz.record() inside it, "
            "around what it does, to see that."
        )
        if self.on:
            self.note_once(note)
        return False

    def note_once(self, note: str) -> None:
        """Say something that could not be seen, unless it was said already."""
        if note not in self.program.notes:
            self.program.notes.append(note)

    def try_(self, function: Any, *args: Any) -> Any:
        """Call a function of ours; what it raises is noted and never leaves us."""
        if not self.on:
            return None
        try:
            with self.unasked():
                return function(*args)
        except Exception as error:
            self.stop(error)
            return None

    def stop(self, error: Exception) -> None:
        """Note that something of ours failed, and where; too often ends the log."""
        self._failures += 1
        if self._failures > _MOST_FAILURES:
            self.on = False
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = "" if trace is None else trace.tb_frame.f_code.co_qualname
        note = (
            "Something was left out of the recording of PyTorch: "
            f"{type(error).__name__}: {str(error)[:_LONGEST_REASON]} (in {where})"
        )
        self.note_once(note)

    def made(self, call: Call) -> None:
        """Learn that a call of a user's Function made the nodes it lists."""
        self.graph.made_by(call.nodes, call.index)

    def value(self, tensor: Any) -> Value:
        """Describe a tensor as it is now."""
        with self.torch._C.DisableTorchFunction():  # a subclass is not to notice
            return self.program.value(self.glance(tensor))

    def glance(self, tensor: Any) -> Glance:
        """Look at a tensor as it is now."""
        glance = self.values.look(tensor)
        if glance[IS_LEAF] and grad_fn_of(tensor):  # what a user's Function returned
            glance = self.values.made(tensor)
        return glance

    def unheard(self) -> Isolated:
        """Let something be computed without graph, and without the program noticing."""
        return Isolated(self.torch)

    def is_opaque(self, tensor: Any) -> bool:
        """Tell whether what a tensor holds is known to its class alone."""
        return is_opaque(self.torch, tensor)

    def node_key(self, node: Any) -> int:
        """Return the key of a backward function."""
        return self.values.node_key(node)

    def pause(self) -> None:
        """Let tensor calls pass unseen until :meth:`resume`; pauses may nest."""
        self.muted += 1
        self._pauses.append(self.step_out())

    def resume(self) -> None:
        """End the last :meth:`pause`."""
        self.muted -= 1
        self.step_in(self._pauses.pop())

    def step_out(self) -> Any:
        """Take our mode off this thread's stack, where it is the innermost one.

        Only our own steps aside: a default device is a mode too.
        """
        depth = self._depth()
        ours = depth and self._at(depth - 1) is self.calls.mode
        return self._pop() if ours else None

    def step_in(self, mode: Any) -> None:
        """Put back what :meth:`step_out` gave."""
        if mode is not None:
            self._push(mode)

    def interrupt_pause(self) -> tuple[int, bool]:
        """See calls again in the middle of a pause; what it returns ends that."""
        outer, self.muted = self.muted, 0
        mode, depth, there = self.calls.mode, self._depth(), False
        for place in range(depth):
            there = there or self._at(place) is mode
        if not there:
            self._push(mode)
        return outer, there

    def continue_pause(self, before: tuple[int, bool]) -> None:
        """Go back to the pause that :meth:`interrupt_pause` interrupted."""
        self.muted, there = before
        if not there:
            self._pop()
