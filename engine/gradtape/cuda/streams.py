"""Streams and events of CUDA devices, on CuPy's."""

from __future__ import annotations

from typing import Any

from .._backend import cuda as _cuda
from .._backend.device import device as Device
from ._devices import device as device_block

NO_STREAMS = "torch.cuda.Stream requires CUDA support"
NO_EVENTS = "Tried to instantiate dummy base class Event"


class Stream:
    """A queue of work for a device; what stands in two streams may run at once.

    Lower ``priority`` goes first. Raises RuntimeError where there is no CUDA.
    """

    def __init__(
        self, device: Any = None, priority: int = 0, *, _stream: Any = None
    ) -> None:
        if not _cuda.is_available():
            raise RuntimeError(NO_STREAMS)
        self.priority = priority
        self.device_index = _cuda.index_of(device)
        if _stream is None:
            with device_block(self.device_index):
                _stream = _cuda.cupy().cuda.Stream(non_blocking=True)
        self._stream: Any = _stream

    @property
    def device(self) -> Device:
        """The device whose queue it is."""
        return Device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The driver's handle."""
        return int(self._stream.ptr)

    def synchronize(self) -> None:
        """Wait until everything in the stream is done."""
        self._stream.synchronize()

    def query(self) -> bool:
        """Tell whether everything in the stream is done."""
        return bool(self._stream.done)

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event at the end of the stream, a new one unless given."""
        found = Event() if event is None else event
        found.record(self)
        return found

    def wait_event(self, event: Event) -> None:
        """Let what is put in this stream from now on wait for an event."""
        self._stream.wait_event(event._event)

    def wait_stream(self, stream: Stream) -> None:
        """Let what is put in this stream from now on wait for what is in another."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.cuda_stream, self.device_index) == (
            other.cuda_stream,
            other.device_index,
        )

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self._hex()}>"

    def _hex(self) -> str:
        return f"{self.cuda_stream:#x}"

    def __enter__(self) -> Stream:
        self._stream.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stream.__exit__(*exc)


class ExternalStream(Stream):
    """A stream that another library made, by its handle."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        outer = _cuda.cupy().cuda.ExternalStream(stream_ptr, _cuda.index_of(device))
        super().__init__(device, _stream=outer)


class Event:
    """A mark in a stream that can be waited for; with timing, a clock reading.

    Raises RuntimeError where there is no CUDA.
    """

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        if not _cuda.is_available():
            raise RuntimeError(NO_EVENTS)
        self._event = _cuda.cupy().cuda.Event(
            block=blocking, disable_timing=not enable_timing, interprocess=interprocess
        )

    def record(self, stream: Stream | None = None) -> None:
        """Put the event at the end of a stream, the current one unless given."""
        self._event.record((stream or current_stream())._stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for the event."""
        (stream or current_stream()).wait_event(self)

    def query(self) -> bool:
        """Tell whether everything before the event is done."""
        return bool(self._event.done)

    def synchronize(self) -> None:
        """Wait until everything before the event is done."""
        self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another; both with timing."""
        elapsed = _cuda.cupy().cuda.get_elapsed_time
        return float(elapsed(self._event, end_event._event))

    @property
    def cuda_event(self) -> int:
        """The driver's handle."""
        return int(self._event.ptr)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>"


class StreamContext:
    """Put work in a stream inside the block; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exc)


def stream(stream: Stream | None) -> StreamContext:
    """Put work in a stream inside a ``with`` block."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Put work in a stream from now on."""
    if stream is not None:
        stream._stream.use()


def current_stream(device: Any = None) -> Stream:
    """Return the stream that work goes to."""
    found = _cuda.cupy().cuda.get_current_stream()
    return Stream(device, _stream=found)


def default_stream(device: Any = None) -> Stream:
    """Return the stream that work goes to unless another is chosen."""
    return Stream(device, _stream=_cuda.cupy().cuda.Stream.null)
