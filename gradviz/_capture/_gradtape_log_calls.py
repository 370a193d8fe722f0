"""Stands in for the public functions of gradtape while a program log is open.

The outermost call of a thread becomes one Call; what the engine calls inside is part of
it. While no log is open none of this is installed, so nothing is paid.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from gradtape._mode import mode
from gradtape._node import next_sequence_nr
from gradtape._site import internal_files
from gradtape._tensor import Tensor
from gradviz._capture._gradtape_log_arguments import ATOMS, plain, region
from gradviz._capture._gradtape_log_exports import EXPORTING
from gradviz._capture._loop_base import UNSEEN
from gradviz.program.events import Call
from gradviz.program.noted import Glance
from gradviz.program.values import Write

if TYPE_CHECKING:
    from gradviz._capture._gradtape_log import GradtapeLog

# The engine looks for the user's line further out than any of our frames.
internal_files[UNSEEN] = True
internal_files.update({str(path): True for path in Path(__file__).parent.glob("*.py")})

_Written: TypeAlias = tuple[int, int, int, Glance]  # as in Write

Opened: TypeAlias = tuple[tuple[Any, ...], int, list[Tensor], tuple[Any, ...]]
"""A call that is running: what a Noted tells of its beginning, the number after which
its nodes come, the tensors that it was given, and its arguments."""


class Doing:
    """What a thread is in the middle of."""

    __slots__ = ("busy", "inside", "opened", "writes")

    def __init__(self) -> None:
        self.busy = 0  # calls around that are logged as a whole, or not at all
        self.inside: int | None = None  # the backward pass that this thread runs
        self.opened: Opened | None = None  # the call that this thread is inside of
        self.writes: list[_Written] | None = None  # that it did so far


class _Here(threading.local):
    """What the current thread is doing; each look at a thread-local costs."""

    def __init__(self) -> None:
        self.now = Doing()


here = _Here()


def stand_in(
    log: GradtapeLog, name: str | None, original: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that does what ``original`` does and logs its calls.

    Without a name the first argument is a class, which is what makes the tensor.
    """
    begin, finish, fail = log.calls.begin, log.calls.finish, log.calls.fail

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        doing = here.now
        if doing.busy:
            return original(*args, **kwargs)
        doing.busy = 1
        if name is None:
            begin(doing, args[0].__name__, args[1:], kwargs, sys._getframe(1))
        else:
            begin(doing, name, args, kwargs, sys._getframe(1))
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            fail(doing, error)
            raise
        else:
            finish(doing, result)
            return result
        finally:
            doing.busy -= 1

    return call


def unlogged(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose inner calls are not logged: what prints a tensor."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        here.now.busy += 1
        try:
            return original(*args, **kwargs)
        finally:
            here.now.busy -= 1

    return call


class Calls:
    """Notes calls, and what they write."""

    def __init__(self, log: GradtapeLog) -> None:
        self._log = log
        self._look = log.reader.look
        self._raw = log.program.raw
        self._files = log.user_files
        self._scans = log.scan.on

    def begin(
        self,
        doing: Doing,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        frame: FrameType | None,
    ) -> None:
        """Describe the arguments of a call before it runs."""
        doing.opened = doing.writes = None
        log, look, files = self._log, self._look, self._files
        try:
            while frame is not None and not files[frame.f_code.co_filename]:
                frame = frame.f_back
            code, lasti = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
            at, now = self._log.loop.here.now, mode.now
            if at.stepping is not None and (code, lasti) == log.loop.step_site:
                return  # a library's step that was given a closure
            tensors: list[Tensor] = []
            values: list[Glance] = []
            arguments: list[Any] = []
            for each in args:
                if isinstance(each, Tensor):
                    glance = look(each)
                    tensors.append(each)
                    values.append(glance)
                    arguments.append(glance)
                elif type(each) in ATOMS:
                    arguments.append(each)
                else:
                    arguments.append(plain(each, look, tensors, values))
            keywords = self._keywords(kwargs, tensors, values) if kwargs else ()
            inputs, within = tuple(values), at.within
            begun = (
                name,
                code,
                lasti,
                log.stack() if self._scans else (),
                get_ident(),
                inputs,
                inputs if values == arguments else tuple(arguments),
                keywords,
                now.grad,
                now.inference,
                at.module,
                doing.inside if within is None else within,
            )
            doing.opened = begun, next_sequence_nr(), tensors, args
        except Exception as error:
            log.give_up(f"before {name}", error)

    def _keywords(
        self, kwargs: dict[str, Any], tensors: list[Tensor], values: list[Glance]
    ) -> tuple[Any, ...]:
        found: list[Any] = []
        for key, each in kwargs.items():
            simple = type(each) in ATOMS
            found += (key, each if simple else plain(each, self._look, tensors, values))
        return tuple(found)

    def finish(self, doing: Doing, result: Any) -> None:
        """Note a call that returned."""
        opened = doing.opened
        if opened is None:
            return
        doing.opened = None
        try:
            if type(result) is Tensor:
                self._add(doing, opened, (result,), (self._look(result),), None)
            elif result is not NotImplemented:
                self._finish(doing, opened, result)
        except Exception as error:
            self._log.give_up(f"after {opened[0][0]}", error)

    def _finish(self, doing: Doing, opened: Opened, result: Any) -> None:
        tensors: list[Tensor] = []
        values: list[Glance] = []
        found = plain(result, self._look, tensors, values)
        if opened[0][0] in _WRITERS and opened[2]:
            plain(opened[2][0], self._look, tensors, values)
            found = None
        elif tensors:
            found = None
        self._add(doing, opened, tensors, tuple(values), found)

    def _add(
        self,
        doing: Doing,
        opened: Opened,
        tensors: Sequence[Tensor],
        outputs: tuple[Glance, ...],
        result: Any,
    ) -> None:
        log, (begun, first, given, _) = self._log, opened
        writes = () if doing.writes is None else tuple(doing.writes)
        with log.lock:
            index = log.take_index()
            self._raw.append(("call", index, begun, outputs, (), writes, result))
            for tensor in tensors:
                if tensor._grad_fn is not None:
                    log.reader.called(index, begun[_MODULE], first, tensors)
                    break
            log.added(index, [each[0] for each in writes] if writes else ())
            if self._scans and begun[0] in EXPORTING:
                for tensor in (*given, *tensors):
                    storage = log.reader.storage(tensor._data)
                    log.exports.share(storage, tensor._data, index)

    def fail(self, doing: Doing, error: BaseException) -> None:
        """Note a call that raised."""
        opened, log = doing.opened, self._log
        if opened is None:
            return
        self._add(doing, opened, (), (), None)
        doing.opened = None
        call = log.program.events[-1]
        if isinstance(call, Call):
            call.error = f"{type(error).__name__}: {error}"

    # ---- writes -----------------------------------------------------------------

    def wrote(self, target: Tensor, op: str, version: int) -> None:
        """Note that memory was written: by the open call, else as a call of its own."""
        log, doing = self._log, here.now
        opened = doing.opened
        log.reader.changed(log.reader.storage(target._data))
        if opened is not None:
            glance = log.reader.look(target)
            if opened[0][0] == "__setitem__":
                glance = region(glance, *opened[3][:2])
            if doing.writes is None:
                doing.writes = []
            doing.writes.append((glance[1], version - 1, version, glance))
            return
        value = log.reader.seen(target)
        at, now = self._log.loop.here.now, mode.now
        with log.lock:
            log.add(
                Call(
                    index=log.take_index(),
                    op=op,
                    site=log.site(),
                    stack=log.stack(),
                    thread=get_ident(),
                    inputs=(value,),
                    outputs=(value,),
                    arguments=(value,),
                    writes=(Write(value.storage, version - 1, version, value),),
                    grad_enabled=now.grad,
                    inference=now.inference,
                    module=at.module,
                    within=doing.inside if at.within is None else at.within,
                )
            )


_MODULE = 10
"""The place of the module among what is known when a call begins."""

_WRITERS = frozenset(("__setitem__", "data.set", "requires_grad.set", "__delitem__"))
"""Calls that return nothing but leave their first argument changed."""
