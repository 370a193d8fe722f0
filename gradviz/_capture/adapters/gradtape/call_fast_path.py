"""Notes what most calls are, in one piece: each call of a function counts.

Arguments by position alone, nothing written, one tensor as the result, and nobody looks
at values. What is noted comes to what :meth:`Calls.finish` would note.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from gradtape._debug import Tensor, mode, next_sequence_nr
from gradviz._capture.adapters.gradtape.context import GradtapeContext
from gradviz._capture.adapters.gradtape.fresh_outputs import bind_fresh, bind_in_brief

if TYPE_CHECKING:
    from gradviz._capture.adapters.gradtape.calls import Doing


def bind_simply(
    log: GradtapeContext,
) -> Callable[[Doing, str, tuple[Any, ...], int, Tensor], bool]:
    """Return a function that notes such a call, or tells that the call is none.

    It takes what the thread is doing, the op, its arguments, the number after which its
    nodes come, and the result.
    """
    in_brief, look_at_fresh = bind_in_brief(log.reader), bind_fresh(log.reader)
    look, makers = log.reader.look, log.reader.makers
    site, users, loop = log.calls.site, log.calls.users, log.loop.here
    raw, lock, most, details = log.program.raw, log.lock, log.most, log.details
    last: CodeType | None = None  # the user's code that made the last call

    def simply(
        doing: Doing, name: str, args: tuple[Any, ...], first: int, result: Tensor
    ) -> bool:
        nonlocal last
        given = in_brief(args)
        if given is None:
            return False
        node, inside, stack = result._grad_fn, doing.inside, ()
        if details.on:  # which has looked at the result
            code, lasti, stack = log.place()
            output = look(result)
        elif node is None or node.seq < first or inside is not None:
            code, lasti = site()
            output = look(result)
        else:  # the engine has found the user's line already
            code, lasti = node.code, node.lasti
            if code is None or code is not last:
                code, lasti = users(code, lasti)
                last = code
            output = look_at_fresh(result, node)
        at, now = loop.now, mode.now
        if at.stepping is not None and (code, lasti) == log.loop.step_site:
            return True  # a library's step that was given a closure
        module, within = at.module, inside if at.within is None else at.within
        thread, grad, inference = doing.thread, now.grad, now.inference
        with lock:
            index = log.next_index
            log.next_index = index + 1
            modes = thread, grad, inference, module, within
            where = index, name, code, lasti, stack, *modes
            raw.append(("brief", *where, output, *given))
            if node is not None:
                makers.append((first, next_sequence_nr(), index, module))
            if log.watchful or len(raw) > most:
                log.added(index)
        return True

    return simply
