"""What the parts of the log of PyTorch may ask of it, besides what any log offers."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any, Protocol

from gradviz._capture.adapters.pytorch.fresh_outputs import FreshOutput
from gradviz._capture.adapters.pytorch.nonfinite_check import NonfiniteCheck
from gradviz._capture.adapters.pytorch.numpy_exports import Exports
from gradviz._capture.adapters.pytorch.tensor_records import TorchValues
from gradviz._capture.context import LogContext
from gradviz._capture.detail import Detail
from gradviz._capture.training_loop.log import LoopLog
from gradviz._capture.training_loop.patches import Here, Place
from gradviz.program.noted import Glance
from gradviz.program.values import RawSite


class TorchContext(LogContext, Protocol):
    """The log of PyTorch as its parts see it."""

    torch: Any
    library: str  # the folder of PyTorch's own files
    on: bool  # false when the log is closed, or has failed too often
    scan: bool  # the values of results and gradients are looked at
    brief: bool  # neither values nor the frames further out are looked at
    detailed: bool  # a graph is recorded too: times, sizes, moments
    detail: Detail
    samples: bool  # values are looked at in some steps only
    nonfinite: NonfiniteCheck
    whole: bool  # values were looked at since the last pass, or something was noticed
    unusual: bool  # a NaN or Inf was noticed since the last pass
    leaves_told: tuple[tuple[int, int], ...]  # by the last pass in brief
    here: Here
    loop: LoopLog
    values: TorchValues
    fresh_output: FreshOutput
    exports: Exports

    # ---- our code, run in the user's program -----------------------------------------

    def is_home(self) -> bool:
        """Whether this is the recording thread; others are named in the notes."""
        ...

    def try_(self, function: Any, *args: Any) -> Any:
        """Call a function of ours; what it raises is noted and never leaves us."""
        ...

    def stop(self, error: Exception) -> None:
        """Note that something of ours failed, and where; too often ends the log."""
        ...

    def note_once(self, note: str) -> None:
        """Say something that could not be seen, unless it was said already."""
        ...

    # ---- detail ----------------------------------------------------------------------

    @property
    def passes_over(self) -> int:
        """How many passes have ended."""
        ...

    def step_ended(self) -> None:
        """Decide how the next step is looked at, now that a pass is over."""
        ...

    def meets_new(self) -> None:
        """Look at a pass in full that is not like those before, if affordable."""
        ...

    def notice(self) -> None:
        """Go on in full: something unusual came up."""
        ...

    def read_graph(self, node: Any) -> None:
        """Read what is not known yet of the graph behind a node."""
        ...

    def came(self, index: int) -> None:
        """Note when an event came, where a graph is recorded too."""
        ...

    # ---- our function mode -----------------------------------------------------------

    def step_out(self) -> Any:
        """Take our mode off this thread's stack, where it is the innermost one."""
        ...

    def step_in(self, mode: Any) -> None:
        """Put back what :meth:`step_out` gave."""
        ...

    def interrupt_pause(self) -> tuple[int, bool]:
        """See calls again in the middle of a pause; what it returns ends that."""
        ...

    def continue_pause(self, before: tuple[int, bool]) -> None:
        """Go back to the pause that :meth:`interrupt_pause` interrupted."""
        ...

    # ---- tensors, and the user's frames ----------------------------------------------

    def glance(self, tensor: Any) -> Glance:
        """Look at a tensor as it is now."""
        ...

    def place(self) -> tuple[RawSite | None, tuple[RawSite, ...]]:
        """Return the user's innermost frame, and the user's frames around it."""
        ...

    def place_of_pass(self) -> tuple[RawSite | None, tuple[RawSite, ...]]:
        """Return the same of a pass, always with the frames around it."""
        ...

    def around(self, frame: FrameType | None) -> tuple[RawSite, ...]:
        """Return the user's frames further out; () where nobody looks at values."""
        ...

    def found_from(
        self, frame: FrameType, place: Place
    ) -> tuple[CodeType | None, int, tuple[RawSite, ...]]:
        """Return code and instruction of the user's innermost frame from here out."""
        ...
