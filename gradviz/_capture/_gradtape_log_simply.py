"""Notes what most calls are, in one piece: each call of a function counts.

Arguments by position alone, nothing written, one tensor as the result, and nobody looks
at values. What is noted is what :meth:`Calls.finish` would note.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from gradtape._mode import mode
from gradtape._node import next_sequence_nr
from gradtape._tensor import Tensor
from gradtape.nn.parameter import Parameter
from gradviz._capture._gradtape_log_arguments import ATOMS, plain

if TYPE_CHECKING:
    from gradviz._capture._gradtape_log import GradtapeLog
    from gradviz._capture._gradtape_log_calls import Doing


def bind_simply(
    log: GradtapeLog,
) -> Callable[[Doing, str, tuple[Any, ...], int, Tensor], None]:
    """Return a function that notes such a call.

    It takes what the thread is doing, the op, its arguments, the number after which its
    nodes come, and the result.
    """
    look, look_at_parameter = log.reader.look, log.reader.look_at_parameter
    site, users, makers = log.calls.site, log.calls.users, log.reader.makers
    raw, lock, shared = log.program.raw, log.lock, log.exports.shared
    loop = log.loop.here
    last: CodeType | None = None  # the user's code that made the last call

    def simply(
        doing: Doing, name: str, args: tuple[Any, ...], first: int, result: Tensor
    ) -> None:
        nonlocal last
        inputs: list[Any] = []
        arguments: list[Any] = []
        alike = True
        for each in args:
            kind = type(each)
            if kind is Tensor:
                glance = look(each)
                inputs.append(glance)
                arguments.append(glance)
            elif kind is Parameter:
                glance = look_at_parameter(each)
                inputs.append(glance)
                arguments.append(glance)
            else:
                alike = False
                simple = kind in ATOMS
                arguments.append(each if simple else plain(each, look, [], inputs))
        output, node, inside = look(result), result._grad_fn, doing.inside
        if node is None or node.seq < first or inside is not None:
            code, lasti = site()
        else:  # the engine has found the user's line already
            code, lasti = node.code, node.lasti
            if code is None or code is not last:
                code, lasti = users(code, lasti)
                last = code
        at, now = loop.now, mode.now
        if at.stepping is not None and (code, lasti) == log.loop.step_site:
            return  # a library's step that was given a closure
        module = at.module
        with lock:
            index = log.next_index
            log.next_index = index + 1
            raw.append(
                (
                    "op",
                    index,
                    name,
                    code,
                    lasti,
                    (),
                    doing.thread,
                    now.grad,
                    now.inference,
                    module,
                    inside if at.within is None else at.within,
                    None if alike else tuple(arguments),
                    (),
                    (),
                    None,
                    len(inputs),
                    *inputs,
                    output,
                )
            )
            if node is not None:
                makers.append((first, next_sequence_nr(), index, module))
            if len(raw) > log.most or shared:
                log.added(index)

    return simply
