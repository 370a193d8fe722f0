"""Notes each call of a module, on the user's line."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradviz._capture.training_loop.patches import Anything, Place, unseen
from gradviz.program.values import RawSite

if TYPE_CHECKING:
    from gradviz._capture.training_loop.modules import ModulePart


def wrap_call(part: ModulePart, original: Anything) -> Anything:
    """Return ``Module.__call__`` with a note of each call."""
    here, log, known = part.here, part.log, part.rows.get
    raw, left, find = log.program.raw, log.program.left, finder(part)
    acquire, release = log.lock.acquire, log.lock.release
    grad_enabled, forwards = part.lib.is_grad_enabled, part.forwards

    @unseen
    @functools.wraps(original)
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        place = here.now
        outer, around, outside = place.module, place.site, place.forward
        if not part.on or log.muted:
            place.site = None  # what may be seen inside is not of that line
            try:
                return original(module, *args, **kwargs)
            finally:
                place.site = around
        try:
            found = known(id(module))
            row = part.row(module) if found is None else found[1]
            if not row.calls:
                part.describe(module, row)
                part.note_forward(type(module))
            row.calls += 1
            place.site = code, lasti = find(sys._getframe(1), place)
            place.forward = forwards.get(type(module))
            training, grad = module.training, grad_enabled()
            key, thread = row.key, place.thread
            acquire()  # as Log.note() does, which would be another call
            try:
                index = log.next_index
                log.next_index = index + 1
                raw.append(
                    ("module", index, code, lasti, thread, key, training, grad, outer)
                )
                if len(raw) > log.most or log.watchful:
                    log.added(index)
            finally:
                release()
            place.module = index
        except Exception as error:
            part.failed(error)
            return original(module, *args, **kwargs)
        try:
            return original(module, *args, **kwargs)
        finally:
            place.module, place.site, place.forward = outer, around, outside
            left[index] = log.next_index

    part.call_code = call.__code__
    return call


def finder(part: ModulePart) -> Callable[[FrameType, Place], RawSite]:
    """Return what finds the line that calls a module, from a frame outwards."""
    users = part.log.user_files

    def find(frame: FrameType, place: Place) -> RawSite:
        around, outside, own = place.site, place.forward, part.call_code
        while True:
            code = frame.f_code
            if around is not None and (code is outside or code is own):
                return around  # nothing of the user's lies between
            if users[code.co_filename] or frame.f_back is None:
                return code, frame.f_lasti
            frame = frame.f_back

    return find
