"""Notes each call of a module, on the user's line."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from gradviz._capture._loop_base import Anything, unseen

if TYPE_CHECKING:
    from gradviz._capture._loop_modules import ModulePart


def wrap_call(part: ModulePart, original: Anything) -> Anything:
    """Return ``Module.__call__`` with a note of each call."""
    here, log, known = part.here, part.log, part.rows.get
    lock, raw, left, users = log.lock, log.program.raw, log.program.left, log.user_files
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
            frame = sys._getframe(1)
            while True:
                code = frame.f_code
                if around is not None and (code is outside or code is own):
                    site = around  # nothing of the user's lies between
                    break
                if users[code.co_filename] or frame.f_back is None:
                    site = code, frame.f_lasti
                    break
                frame = frame.f_back
            place.site = code, lasti = site
            place.forward = forwards.get(type(module))
            training, grad = module.training, grad_enabled()
            with lock:  # as Log.note() does, which would be another call
                index = log.next_index
                log.next_index = index + 1
                key, thread = row.key, place.thread
                raw.append(
                    ("module", index, code, lasti, thread, key, training, grad, outer)
                )
                if len(raw) > log.most or log.watchful:
                    log.added(index)
            place.module = index
            del frame  # nothing of the user's is held while forward runs
        except Exception as error:
            part.failed(error)
            return original(module, *args, **kwargs)
        try:
            return original(module, *args, **kwargs)
        finally:
            place.module, place.site, place.forward = outer, around, outside
            left[index] = log.next_index

    own = part.call_code = call.__code__
    return call
