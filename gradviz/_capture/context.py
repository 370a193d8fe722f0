"""What the parts of a log may ask of the log that owns them, on either engine.

A part (of the training loop, of an adapter) is handed its log when it is made. It takes
this Protocol and not the log's class: a log imports its parts, so parts that imported
the log would close a circle. What only one engine's parts ask stands in a Protocol of
that adapter which extends this one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, Protocol

from gradviz.program.events import Call, Event
from gradviz.program.log import Identities, UserFiles
from gradviz.program.noted import Glance
from gradviz.program.records import Program
from gradviz.program.step_size import StepSize
from gradviz.program.values import RawSite, Value


class LogContext(Protocol):
    """A program log as its parts see it; :class:`gradviz.program.log.Log` is one."""

    # ---- state ----------------------------------------------------------------------

    program: Program
    tensors: Identities
    lock: Any  # a threading.RLock
    user_files: UserFiles
    muted: int  # pauses that are open
    next_index: int  # what the next event will get
    most: int  # events that are kept
    size: StepSize
    watchful: Any  # true while each event is something to look at
    looks: bool  # values are looked at now
    skims: bool  # what was told often enough is passed over now
    unasked: Callable[[], AbstractContextManager[Any]]

    # ---- events ---------------------------------------------------------------------

    def pause(self) -> None:
        """Let tensor calls pass unseen until :meth:`resume`; pauses may nest."""
        ...

    def resume(self) -> None:
        """End the last :meth:`pause`."""
        ...

    def take_index(self) -> int:
        """Reserve the index of an event that is about to be added."""
        ...

    def add(self, event: Event) -> None:
        """Append an event that has its index."""
        ...

    def append(self, event: Event) -> int:
        """Number an event and append it in one go; return its index."""
        ...

    def note(self, kind: str, *rest: Any) -> int:
        """Append an event in short; return its index."""
        ...

    def added(self, index: int) -> None:
        """See to what an event changes, after it was put in by hand."""
        ...

    def made(self, call: Call) -> None:
        """Learn that a call made the nodes it lists."""
        ...

    # ---- tensors and nodes ----------------------------------------------------------

    def tensor(self, tensor: Any) -> int:
        """Return the number of a tensor, and open its row of facts."""
        ...

    def value(self, tensor: Any) -> Value:
        """Describe a tensor as it is now."""
        ...

    def glance(self, tensor: Any) -> Glance | Value:
        """Describe a tensor in short, where an engine has a way to."""
        ...

    def node_key(self, node: Any) -> int | None:
        """Return the key of a backward function."""
        ...

    def gradients(self, params: list[Any]) -> tuple[list[bool], list[bool]]:
        """Tell which tensors have a gradient, and which ask for one."""
        ...

    def versions(self, params: list[Any]) -> list[int]:
        """Return how often the memory of tensors was written."""
        ...

    def is_opaque(self, tensor: Any) -> bool:
        """Tell whether what a tensor holds is known to its class alone."""
        ...

    def unheard(self) -> AbstractContextManager[Any]:
        """Let something be computed without graph, and without the program noticing."""
        ...

    # ---- the user's frames ----------------------------------------------------------

    def frame(self) -> FrameType | None:
        """Return the innermost frame of the user."""
        ...

    def site(self) -> RawSite | None:
        """Return code and instruction of the innermost frame of the user."""
        ...

    def stack(self) -> tuple[RawSite, ...]:
        """Return the user's frames around the innermost one, innermost first."""
        ...

    def outside(self, frame: FrameType) -> tuple[RawSite, ...]:
        """Return the user's frames around this one, innermost first."""
        ...
