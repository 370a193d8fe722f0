"""Stands in for the public functions of gradtape while a program log is open.

The outermost call of a thread becomes one Call; what the engine calls inside is part of
it. While no log is open none of this is installed, so nothing is paid.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._mode import mode
from gradtape._node import next_sequence_nr
from gradtape._site import internal_files
from gradtape._tensor import Tensor
from gradviz._capture._gradtape_log_exports import EXPORTING
from gradviz._capture._gradtape_log_values import Reader
from gradviz._capture._loop_base import UNSEEN
from gradviz.program.events import Call
from gradviz.program.values import Opaque, RawSite, Value, Write

if TYPE_CHECKING:
    from gradviz._capture._gradtape_log import GradtapeLog

# The engine looks for the user's line further out than any of our frames.
internal_files[UNSEEN] = True
internal_files.update({str(path): True for path in Path(__file__).parent.glob("*.py")})

_LONGEST = 64  # elements that are kept of a list among the arguments
_DEEPEST = 4


class _Here(threading.local):
    """How many calls this thread is inside of that are logged as a whole, or not."""

    busy = 0
    inside: int | None = None  # the backward pass that this thread runs


here = _Here()


class Opened:
    """A call that is running: what it was given, and what it wrote so far."""

    __slots__ = ("args", "call", "first", "tensors", "writes")

    def __init__(
        self, call: Call, args: tuple[Any, ...], tensors: list[Tensor], first: int
    ) -> None:
        self.call = call
        self.args = args
        self.tensors = tensors
        self.first = first  # nodes with higher numbers are this call's
        self.writes: list[Write] = []


def stand_in(
    log: GradtapeLog, name: str | None, original: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that does what ``original`` does and logs its calls.

    Without a name the first argument is a class, which is what makes the tensor.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if here.busy:
            return original(*args, **kwargs)
        here.busy += 1
        if name is None:
            opened = log.calls.begin(args[0].__name__, args[1:], kwargs)
        else:
            opened = log.calls.begin(name, args, kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            log.calls.fail(opened, error)
            raise
        else:
            log.calls.finish(opened, result)
            return result
        finally:
            here.busy -= 1
            del opened

    return call


def unlogged(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose inner calls are not logged: what prints a tensor."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        here.busy += 1
        try:
            return original(*args, **kwargs)
        finally:
            here.busy -= 1

    return call


class Calls:
    """Writes Call events."""

    def __init__(self, log: GradtapeLog) -> None:
        self._log = log
        self.open: dict[int, Opened] = {}  # by thread

    def begin(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Opened | None:
        """Describe the arguments of a call before it runs."""
        try:
            return self._begin(name, args, kwargs)
        except Exception as error:
            self._log.give_up(f"before {name}", error)
            return None

    def _begin(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Opened | None:
        log = self._log
        at, now = log.loop.here, mode.now
        site, stack = self._place(sys._getframe(3))
        if at.stepping is not None and site == log.loop.step_site:
            return None  # a library's step that was given a closure
        met = _Met(log.reader)
        arguments = tuple([met.plain(value) for value in args])
        keywords = {key: met.plain(value) for key, value in kwargs.items()}
        inputs = tuple(met.values)
        within = at.within
        call = Call(
            index=-1,
            op=name,
            site=site,
            stack=stack,
            thread=threading.get_ident(),
            # One tuple where all are tensors: the collector has less to look at.
            arguments=inputs if inputs == arguments else arguments,
            keywords=keywords,
            inputs=inputs,
            grad_enabled=now.grad,
            inference=now.inference,
            module=at.module,
            within=here.inside if within is None else within,
        )
        opened = Opened(call, args, met.tensors, next_sequence_nr())
        self.open[call.thread] = opened
        return opened

    def _place(self, frame: FrameType | None) -> tuple[RawSite | None, Any]:
        """Return the user's frame, and those around it where values are looked at."""
        files = self._log.user_files
        while frame is not None and not files[frame.f_code.co_filename]:
            frame = frame.f_back
        if frame is None:
            return None, ()
        stack = self._log.stack() if self._log.scan.on else ()
        return (frame.f_code, frame.f_lasti), stack

    def finish(self, opened: Opened | None, result: Any) -> None:
        """Add the event of a call that returned."""
        if opened is None:
            return
        call = opened.call
        self.open.pop(call.thread, None)
        if result is NotImplemented:
            return
        try:
            self._finish(opened, result)
        except Exception as error:
            self._log.give_up(f"after {call.op}", error)

    def _finish(self, opened: Opened, result: Any) -> None:
        log, call = self._log, opened.call
        reader = log.reader
        with log.lock:
            call.index = log.take_index()
            met = _Met(reader)
            plain = met.plain(result)
            if call.op in _WRITERS and opened.tensors:
                met.plain(opened.tensors[0])
            elif not met.tensors:
                call.result = plain
            call.outputs = tuple(met.values)
            reader.called(call, opened.first, met.tensors)
            call.writes = tuple(opened.writes)
            log.add(call)
            if call.op in EXPORTING and log.scan.on:
                for tensor in (*opened.tensors, *met.tensors):
                    storage = reader.storage(tensor._data)
                    log.exports.share(storage, tensor._data, call.index)

    def fail(self, opened: Opened | None, error: BaseException) -> None:
        """Add the event of a call that raised."""
        if opened is None:
            return
        call = opened.call
        self.open.pop(call.thread, None)
        call.error = f"{type(error).__name__}: {error}"
        call.writes = tuple(opened.writes)
        with self._log.lock:
            call.index = self._log.take_index()
            self._log.add(call)

    # ---- writes -----------------------------------------------------------------

    def wrote(self, target: Tensor, op: str, version: int) -> None:
        """Note that memory was written: by the open call, else as a call of its own."""
        log = self._log
        opened = self.open.get(threading.get_ident())
        if opened is None and here.busy:
            return  # whoever muted us tells of it
        log.reader.changed(log.reader.storage(target._data))
        value = log.reader.look(target)
        if opened is not None:
            if opened.call.op == "__setitem__":
                value = _region(value, *opened.args[:2])
            opened.writes.append(Write(value.storage, version - 1, version, value))
            return
        at, now = log.loop.here, mode.now
        with log.lock:
            log.add(
                Call(
                    index=log.take_index(),
                    op=op,
                    site=log.site(),
                    stack=log.stack(),
                    thread=threading.get_ident(),
                    inputs=(value,),
                    outputs=(value,),
                    arguments=(value,),
                    writes=(Write(value.storage, version - 1, version, value),),
                    grad_enabled=now.grad,
                    inference=now.inference,
                    module=at.module,
                    within=here.inside if at.within is None else at.within,
                )
            )


class _Met:
    """Collects the tensors among arguments or results, and describes all of them."""

    __slots__ = ("_look", "tensors", "values")

    def __init__(self, reader: Reader) -> None:
        self._look = reader.look
        self.tensors: list[Tensor] = []
        self.values: list[Value] = []

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Return an argument without tensors or arrays."""
        if type(value) is Tensor or isinstance(value, Tensor):
            found = self._look(value)
            self.tensors.append(value)
            self.values.append(found)
            return found
        if type(value) in _ATOMS:
            return value
        if isinstance(value, (list, tuple)):
            if depth == _DEEPEST or len(value) > _LONGEST:
                for each in value:
                    if isinstance(each, Tensor):
                        self.plain(each)
                return Opaque(type(value).__name__)
            return tuple([self.plain(each, depth + 1) for each in value])
        if isinstance(value, dict):
            return {
                key: self.plain(each, depth + 1)
                for key, each in list(value.items())[:_LONGEST]
                if isinstance(key, str)
            }
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return slice(*[self.plain(each, depth + 1) for each in parts])
        if isinstance(value, np.number | np.bool_):
            return value.item()
        kind = type(value).__name__
        if kind in ("dtype", "device"):
            return str(value).removeprefix("torch.")
        code = getattr(value, "__code__", None)
        return Opaque(kind, getattr(value, "__qualname__", ""), code)


_ATOMS = frozenset((type(None), bool, int, float, complex, str, type(Ellipsis)))


def _region(value: Value, target: Tensor, index: Any) -> Value:
    """Return the value of ``target[index]``, where an index without tensors says it."""
    data, places = target._data, index if isinstance(index, tuple) else (index,)
    if type(data) is not np.ndarray or not all(_is_basic(place) for place in places):
        return value
    part = data[(*places, ...) if Ellipsis not in places else places]
    item = data.itemsize
    start = part.__array_interface__["data"][0] - data.__array_interface__["data"][0]
    return replace(
        value,
        shape=part.shape,
        strides=tuple([step // item for step in part.strides]),
        offset=target.storage_offset() + (start // item if part.size else 0),
    )


def _is_basic(place: Any) -> bool:
    if isinstance(place, slice):
        return all(_is_basic(each) for each in (place.start, place.stop, place.step))
    return place is None or place is Ellipsis or type(place) is int


_WRITERS = frozenset(("__setitem__", "data.set", "requires_grad.set", "__delitem__"))
"""Calls that return nothing but leave their first argument changed."""
