"""What the parts of gradtape's log may ask of it, besides what any log offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any, Protocol

from gradtape._debug import events
from gradviz._capture.adapters.gradtape.numpy_exports import Exports
from gradviz._capture.adapters.gradtape.pass_preview import Ahead
from gradviz._capture.adapters.gradtape.runs import PassRuns
from gradviz._capture.adapters.gradtape.tensor_records import Reader
from gradviz._capture.adapters.gradtape.value_scan import Scan
from gradviz._capture.context import LogContext
from gradviz._capture.training_loop.log import LoopLog
from gradviz.program.events import HookRegistered
from gradviz.program.values import RawSite


class CallSites(Protocol):
    """Finds the user's line of a call."""

    def site(self) -> tuple[CodeType | None, int]:
        """Return code and instruction of the innermost frame of the user."""
        ...

    def users(self, code: CodeType | None, lasti: int) -> tuple[CodeType | None, int]:
        """Return where a node was made, if that is a line of the user's."""
        ...


class RunningPasses(Protocol):
    """The passes that are running."""

    ahead: Ahead
    hooks: dict[int, HookRegistered]  # that were put on, by the number of the handle

    @property
    def runs(self) -> PassRuns | None:
        """What is known of the innermost one of this thread, if there is one."""
        ...

    @property
    def index(self) -> int:
        """The index of the innermost pass of this thread."""
        ...


class OpNotes(Protocol):
    """What only a picture of the graph needs."""

    on: bool

    def op(self, event: events.OpCalled) -> None:
        """Note an op that made a node."""

    def hook(self, event: events.HookRan, index: int, runs: int) -> None:
        """Note a hook that runs within a pass."""

    def passed(self, index: int, last: int) -> None:
        """Forget what lies far back."""


class GradtapeContext(LogContext, Protocol):
    """The log of gradtape as its parts see it."""

    scan: Scan
    reader: Reader
    exports: Exports
    loop: LoopLog
    last_index: int | None  # of the pass that ended last
    passes_over: int

    simply: Callable[..., bool]  # notes what most calls are, see call_fast_path

    # Read alone: a log has more than these tell.
    @property
    def calls(self) -> CallSites:
        """The part that notes calls."""
        ...

    @property
    def passes(self) -> RunningPasses:
        """The part that notes passes."""
        ...

    @property
    def details(self) -> OpNotes:
        """The part that notes what a picture needs."""
        ...

    def place(self) -> tuple[CodeType | None, int, tuple[RawSite, ...]]:
        """Return code and instruction of the innermost frame, and those around it."""
        ...

    def added(self, index: int, written: Sequence[int] = ()) -> None:
        """See to what an event changes, after it was put in by hand."""

    def on_exit(self, call: Callable[..., Any], *args: Any) -> None:
        """Call something when the log is closed."""

    def quiet(self) -> AbstractContextManager[None]:
        """Log no calls of this thread inside."""
        ...

    def give_up(self, where: str, error: BaseException) -> None:
        """Note that a part of the log failed; the user's program goes on."""
