"""Calls of gradtape's public functions as notes of the program log.

The outermost call of a thread becomes one Call; what the engine calls inside is part of
it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, TypeAlias
from weakref import ref

from gradtape._debug import (
    PublicCall,
    Tensor,
    calling,
    internal_files,
    mode,
    next_sequence_nr,
)
from gradtape.nn.parameter import Parameter
from gradviz._capture.adapters.gradtape.call_arguments import ATOMS, plain, region
from gradviz._capture.adapters.gradtape.context import GradtapeContext
from gradviz._capture.adapters.gradtape.numpy_exports import EXPORTING
from gradviz._capture.adapters.gradtape.op_facts import tensors_in
from gradviz._capture.adapters.gradtape.tensor_records import (
    STORAGE,
    VERSION,
    at_version,
)
from gradviz._capture.training_loop.patches import UNSEEN
from gradviz.program.events import Call
from gradviz.program.noted import PLACES, Glance
from gradviz.program.values import Write

# The engine looks for the user's line further out than any of our frames.
internal_files[UNSEEN] = True
_CAPTURE = Path(__file__).parents[2]
internal_files.update({str(path): True for path in _CAPTURE.rglob("*.py")})

_Written: TypeAlias = tuple[int, int, int, Glance]  # as in Write

Look: TypeAlias = Callable[[Tensor], Glance]

Given: TypeAlias = tuple[tuple[Glance, ...], tuple[Any, ...] | None, tuple[Any, ...]]
"""The tensors that a call was given, as they were, and all arguments in short.

None stands for arguments that are just these tensors; names and values take turns.
"""


class Doing:
    """What a thread is in the middle of, beside the call that it announces."""

    __slots__ = ("given", "inside", "thread", "writes")

    def __init__(self) -> None:
        self.inside: int | None = None  # the backward pass that this thread runs
        self.thread = get_ident()
        self.given: Given | None = None  # of the call, if that was looked at
        self.writes: list[_Written] | None = None  # that it did so far


class _Here(threading.local):
    """What the current thread is doing; each look at a thread-local costs."""

    def __init__(self) -> None:
        self.now = Doing()


here = _Here()


class Calls:
    """Notes calls, and what they write."""

    def __init__(self, log: GradtapeContext) -> None:
        self._log = log
        self._look = log.reader.look
        self._called, self._makers = log.reader.called, log.reader.makers
        self._raw = log.program.raw
        self._files = log.user_files
        self._scans = log.scan.on
        self.stacks = log.scan.on  # whether outer frames are noted too
        self._loop, self._lock = log.loop.here, log.lock
        self._shared, self._size = log.exports.shared, log.size

    def begin(self, call: PublicCall) -> None:
        """Describe what a call was given, before it writes."""
        try:
            here.now.given = self._given(call, self._look)
        except Exception as error:
            self._log.give_up(f"before {call.name}", error)
            calling.now.call = None

    def _given(self, call: PublicCall, look: Look) -> Given:
        values: list[Glance] = []
        arguments: list[Any] = []
        for each in call.args:
            kind = type(each)
            if kind is Tensor or kind is Parameter:
                at = len(values)
                values.append(look(each))
                arguments.append(PLACES[at] if at < len(PLACES) else values[at])
            elif kind in ATOMS:
                arguments.append(each)
            else:
                arguments.append(plain(each, look, [], values))
        keywords: list[Any] = []
        for key, each in call.kwargs.items():
            simple = type(each) in ATOMS
            keywords += (key, each if simple else plain(each, look, [], values))
        alone = len(values) == len(arguments) == len(call.args) < len(PLACES)
        plainly = (
            None if alone and arguments == _FIRST[: len(values)] else tuple(arguments)
        )
        return tuple(values), plainly, tuple(keywords)

    def end(self, call: PublicCall, result: Any) -> None:
        """Note a call that returned."""
        doing = here.now
        if self._size.counting and self._counted(doing, result):
            return
        if call.kwargs or doing.given or self._scans or type(result) is not Tensor:
            self.finish(doing, call, result)
            return
        try:
            brief = self._log.simply(doing, call.name, call.args, call.first, result)
        except Exception as error:
            self._log.give_up(f"after {call.name}", error)
            return
        if not brief:
            self.finish(doing, call, result)

    def _counted(self, doing: Doing, result: Any) -> bool:
        """Tell whether a call of a large step need not be noted."""
        size = self._size
        if type(result) is not Tensor or result._grad_fn is None:
            return False
        if doing.given is not None and not size.writes_too:
            return False
        size.latest = ref(result)
        size.counted += 1
        calling.now.call = doing.given = doing.writes = None
        return True

    def finish(self, doing: Doing, call: PublicCall, result: Any) -> None:
        """Note a call in full."""
        if calling.now.call is call:
            calling.now.call = None
            try:
                given = doing.given or self._given(call, self._look)
                if type(result) is Tensor:
                    outputs = (self._look(result),)
                    self._add(doing, call, given, (result,), outputs, None)
                elif result is not NotImplemented:
                    self._finish(doing, call, given, result)
            except Exception as error:
                self._log.give_up(f"after {call.name}", error)
        doing.given = doing.writes = None  # nothing that the user lets go of is held

    def _finish(
        self,
        doing: Doing,
        call: PublicCall,
        given: Given,
        result: Any,
    ) -> None:
        tensors: list[Tensor] = []
        values: list[Glance] = []
        found = plain(result, self._look, tensors, values)
        target = call.args[0] if call.args else None
        if call.name in _WRITERS and isinstance(target, Tensor):
            plain(target, self._look, tensors, values)
            found = None
        elif tensors:
            found = None
        self._add(doing, call, given, tensors, tuple(values), found)

    def _add(
        self,
        doing: Doing,
        call: PublicCall,
        given: Given,
        tensors: Sequence[Tensor],
        outputs: tuple[Glance, ...],
        result: Any,
    ) -> int | None:
        log, name, first = self._log, call.name, call.first
        at, now = self._loop.now, mode.now
        node = tensors[0]._grad_fn if tensors else None
        if node is None and len(tensors) > 1:
            node = next((t._grad_fn for t in tensors if t._grad_fn is not None), None)
        inside = doing.inside
        stack = ()
        if self.stacks:
            code, lasti, stack = log.place()
        elif node is None or node.seq < first or inside is not None:
            code, lasti = self.site()
        else:  # the engine has found the user's line already
            code, lasti = node.code, node.lasti
            code, lasti = self.users(code, lasti)
        if at.stepping is not None and (code, lasti) == log.loop.step_site:
            return None  # a library's step that was given a closure
        writes = () if doing.writes is None else tuple(doing.writes)
        inputs, arguments, keywords = given
        raw = self._raw
        with self._lock:
            index = log.next_index
            log.next_index = index + 1
            raw.append(
                (
                    "op",
                    index,
                    name,
                    code,
                    lasti,
                    stack,
                    doing.thread,
                    now.grad,
                    now.inference,
                    at.module,
                    inside if at.within is None else at.within,
                    arguments,
                    keywords,
                    writes,
                    result,
                    len(inputs),
                    *inputs,
                    *outputs,
                )
            )
            if self._scans:
                if node is not None:
                    self._called(index, at.module, first, tensors)
            elif node is not None:  # which is what that comes to
                self._makers.append((first, next_sequence_nr(), index, at.module))
            if len(raw) > log.most or log.watchful:
                log.added(index, [each[0] for each in writes])
            if self._scans and name in EXPORTING:
                for tensor in (
                    *tensors_in((*call.args, *call.kwargs.values())),
                    *tensors,
                ):
                    storage = log.reader.storage(tensor._data)
                    log.exports.share(storage, tensor._data, index)
        return index

    def site(self) -> tuple[CodeType | None, int]:
        """Return code and instruction of the innermost frame of the user."""
        files = self._files
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not files[frame.f_code.co_filename]:
            frame = frame.f_back
        return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)

    def users(self, code: CodeType | None, lasti: int) -> tuple[CodeType | None, int]:
        """Return where a node was made, if that is a line of the user's."""
        if code is None or not self._files[code.co_filename]:
            return self.site()
        return code, lasti

    def fail(self, call: PublicCall, error: BaseException) -> None:
        """Note a call that raised."""
        doing, log = here.now, self._log
        if calling.now.call is call:
            calling.now.call = None
            try:
                given = doing.given or self._given(call, self._look)
                index = self._add(doing, call, given, (), (), None)
                event = log.program.event(index)
                if isinstance(event, Call):
                    event.error = f"{type(error).__name__}: {error}"
            except Exception as failure:
                log.give_up(f"after {call.name} raised", failure)
        doing.given = doing.writes = None

    # ---- writes -----------------------------------------------------------------

    def wrote(self, target: Tensor, op: str, version: int) -> None:
        """Note that memory was written: by the open call, else as a call of its own."""
        log, doing, call = self._log, here.now, calling.now.call
        log.reader.changed(log.reader.storage(target._data))
        if call is not None:
            glance = log.reader.look(target)
            if doing.given is None:
                doing.given = self._given(call, self._look_before(glance))
            if call.name == "__setitem__":
                glance = region(glance, *call.args[:2])
            if doing.writes is None:
                doing.writes = []
            doing.writes.append((glance[1], version - 1, version, glance))
            return
        self._wrote_alone(target, op, version)

    def _look_before(self, written: Glance) -> Look:
        """Return what looks at tensors as they were before one was written."""

        def look(tensor: Tensor) -> Glance:
            glance = self._look(tensor)
            if glance[STORAGE] == written[STORAGE]:
                return at_version(glance, glance[VERSION] - 1)
            return glance

        return look

    def _wrote_alone(self, target: Tensor, op: str, version: int) -> None:
        log, doing = self._log, here.now
        value = log.reader.seen(target)
        at, now = self._log.loop.here.now, mode.now
        with log.lock:
            log.add(
                Call(
                    index=log.take_index(),
                    op=op,
                    site=log.site(),
                    stack=log.stack(),
                    thread=doing.thread,
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


_FIRST = list(PLACES)

_WRITERS = frozenset(("__setitem__", "data.set", "requires_grad.set", "__delitem__"))
"""Calls that return nothing but leave their first argument changed."""
