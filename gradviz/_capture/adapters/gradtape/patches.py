"""Stands in for the public functions of gradtape while a program log is open.

While none is open nothing of this is installed, so nothing is paid.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradtape._debug import Tensor, next_sequence_nr
from gradviz._capture.adapters.gradtape.calls import here

if TYPE_CHECKING:
    from gradviz._capture.adapters.gradtape.log import GradtapeLog

_CHANGES = re.compile(r".*([^_]_|\.set)$|__(set|del)item__$").match
"""Tells ops after which their arguments are not what they were."""


def stand_in(
    log: GradtapeLog, name: str | None, original: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that does what ``original`` does and logs its calls.

    Without a name the first argument is a class, which is what makes the tensor.
    """
    begin, finish, fail = log.calls.begin, log.calls.finish, log.calls.fail
    simply, op = log.simply, name or ""
    # Later its arguments may be others.
    changes = log.scan.on or _CHANGES(op) is not None
    in_full = changes or name is None

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        doing = here.now
        if doing.busy:
            return original(*args, **kwargs)
        doing.busy = 1
        doing.given = doing.writes = None
        if name is None:
            doing.opened = args[0].__name__, args[1:], kwargs, next_sequence_nr()
        else:
            doing.opened = name, args, kwargs, next_sequence_nr()
        if changes:
            begin(doing)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            fail(doing, error)
            raise
        else:
            if kwargs or in_full or doing.given or type(result) is not Tensor:
                finish(doing, result)
            else:
                try:
                    if not simply(doing, op, args, doing.opened[3], result):
                        finish(doing, result)
                except Exception as error:
                    log.give_up(f"after {name}", error)
                doing.opened = None
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
