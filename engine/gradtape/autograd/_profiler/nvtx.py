"""Ranges for other profilers: NVTX for NVIDIA's, ITT for Intel's; nvprof's files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..._profiling import composite_ops as _profile_names
from ..._profiling.event import Event, described
from ..._profiling.recorder import Recorder
from ..profiler_util import EventList, FunctionEvent

if TYPE_CHECKING:
    import sqlite3

NO_NVTX = (
    "NVTX functions not installed. emit_nvtx() marks ranges through CuPy: install the "
    "cupy package that fits your CUDA version, e.g. `pip install cupy-cuda12x`."
)
NO_ITT = "ITT functions not installed. Are you sure you have a ITT build?"


class _Ranges(Recorder):
    """Announces every op and node as a range to a profiler outside of Python."""

    def __init__(self, ranges: Any, shapes: bool) -> None:
        super().__init__(shapes)
        self._ranges = ranges

    def begin(
        self, name: str, scope: int = 0, inputs: Iterable[Any] | None = None
    ) -> Event:
        """Push a range; nothing is kept."""
        event = Event(name, scope)
        text = name
        if scope == 0:
            text += f", seq = {self.newest + 1}"
        if self.shapes and inputs is not None:
            sizes = [getattr(described(each), "shape", []) for each in inputs]
            text += f", sizes = {sizes}"
        self._ranges.RangePush(text)
        return event

    def finish(self, event: Event) -> None:
        """Pop the range."""
        event.end = 1
        self._ranges.RangePop()


class _emit:
    """Shared enter and exit of emit_nvtx and emit_itt."""

    library = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes
        self._recorder: _Ranges | None = None

    def _open(self) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(
                f"{self.library} annotation context manager is not reentrant"
            )
        ranges = self._open()
        self.entered = True
        self._recorder = _Ranges(ranges, self.record_shapes)
        _profile_names.install()
        self._recorder.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._recorder is not None:
            self._recorder.stop()
            _profile_names.uninstall()
            self._recorder = None


class emit_nvtx(_emit):
    """Mark every op and node as an NVTX range, for Nsight and nvprof.

    Ranges are named after the ops, with ``seq = N``: the number of the node that the op
    makes, by which its run in backward is found. ``record_shapes`` adds the sizes of
    tensor arguments. Needs CuPy; raises RuntimeError without it.
    """

    library = "NVTX"

    def _open(self) -> Any:
        try:
            from cupy.cuda import nvtx  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise RuntimeError(NO_NVTX) from None
        return nvtx


class emit_itt(_emit):
    """Mark every op and node as an ITT range, for Intel's VTune.

    Raises RuntimeError: there is no binding to ITT for this engine.
    """

    library = "ITT"

    def _open(self) -> Any:
        raise RuntimeError(NO_ITT)


class EnforceUnique:
    """Refuses a key that it has seen."""

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Note a key. Raises RuntimeError the second time."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


def load_nvprof(path: str) -> EventList:
    """Read the ranges and kernels of a file that nvprof wrote.

    ``path`` is an SQLite file made by ``nvprof -o``, of a program that ran under
    :class:`emit_nvtx`.
    """
    return EventList(parse_nvprof_trace(path))


_MARKERS = """
    SELECT begin.id AS id, begin.name AS name, begin.timestamp AS begins,
           finish.timestamp AS ends
    FROM CUPTI_ACTIVITY_KIND_MARKER AS begin
    JOIN CUPTI_ACTIVITY_KIND_MARKER AS finish ON begin.id = finish.id
    WHERE begin.name != 0 AND finish.name = 0
"""
_KERNELS = """
    SELECT begin.id AS marker, runtime._id_ AS launch, runtime.cbid AS cbid,
           kernel.name AS name, kernel."end" - kernel.start AS took
    FROM CUPTI_ACTIVITY_KIND_MARKER AS begin
    JOIN CUPTI_ACTIVITY_KIND_MARKER AS finish ON begin.id = finish.id
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS runtime
      ON begin.timestamp < runtime.start AND runtime."end" < finish.timestamp
    JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel
      ON kernel.correlationId = runtime.correlationId
"""
_LAUNCH = 211
"""The callback of cudaLaunchKernel, since CUDA 9.2."""


def parse_nvprof_trace(path: str) -> list[FunctionEvent]:
    """Return the ranges of an nvprof file in order, each with its kernels."""
    import sqlite3  # which a Python in a browser need not have

    connection = sqlite3.connect(path)
    try:
        connection.row_factory = sqlite3.Row
        query = "SELECT _id_ AS id, value FROM StringTable"
        strings = {row["id"]: row["value"] for row in connection.execute(query)}
        found = _read_markers(connection, strings)
        _read_kernels(connection, found)
    finally:
        connection.close()
    return sorted(found.values(), key=lambda event: event.time_range.start)


def _read_markers(
    connection: sqlite3.Connection, strings: dict[int, str]
) -> dict[int, FunctionEvent]:
    unique = EnforceUnique()
    found: dict[int, FunctionEvent] = {}
    for row in connection.execute(_MARKERS):
        unique.see(row["id"])
        found[row["id"]] = FunctionEvent(
            id=row["id"],
            node_id=0,
            name=strings[row["name"]],
            start_us=row["begins"],
            end_us=row["ends"],
            thread=0,
        )
    return found


def _read_kernels(
    connection: sqlite3.Connection, found: dict[int, FunctionEvent]
) -> None:
    unique = EnforceUnique()
    for row in connection.execute(_KERNELS):
        unique.see(row["marker"], row["launch"])
        assert row["cbid"] == _LAUNCH, f"Expected cbid to be 211, but got {row['cbid']}"
        found[row["marker"]].append_kernel(row["name"], 0, row["took"])
