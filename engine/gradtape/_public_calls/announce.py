"""The functions that announce their calls, put in place while anyone listens."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .._common.handles import RemovableHandle
from .._graph.node import next_sequence_nr
from .._graph.observe import CallListener, PublicCall, call_listeners, calling
from .._tensor.tensor import Tensor
from ..overrides._overridable import when_arming
from .attributes import announcing_attributes, announcing_constructors
from .names import UNANNOUNCED, announced_functions, announced_methods, op_of
from .passes import announcing_hooks, announcing_modes, announcing_passes

_CHANGES = re.compile(r".*([^_]_|\.set)$|__(set|del)item__$").match
"""Tells ops after which their arguments are not what they were."""

Change = tuple[Any, str, Any]
"""An owner, the name of an attribute, and what it is while somebody listens."""

_lock = threading.Lock()
_changes: list[Change] = []  # made once: the functions do not depend on who listens
_before: list[
    tuple[Any, str, bool, Any, Any]
] = []  # what was there, while they are in place


def observe_calls(listener: CallListener) -> Callable[[], None]:
    """Announce the calls of public functions to a listener; return what ends that.

    Of several listeners the last one is told of ops, and each of passes, modes, hooks.
    """
    with _lock:
        if not call_listeners:
            _put_in_place()
        call_listeners.append(listener)
    return functools.partial(_forget, listener)


def _forget(listener: CallListener) -> None:
    with _lock:
        if listener in call_listeners:
            call_listeners.remove(listener)
            if not call_listeners:
                _take_away()


def _put_in_place() -> None:
    if not _changes:
        _changes.extend(list(_all_changes()))
    for owner, name, value in _changes:
        own = vars(owner)
        _before.append((owner, name, name in own, own.get(name), value))
        setattr(owner, name, value)


def _take_away() -> None:
    while _before:
        owner, name, had, value, ours = _before.pop()
        if vars(owner).get(name) is not ours:
            continue  # somebody has put something else there since
        if had:
            setattr(owner, name, value)
        else:
            delattr(owner, name)


def _step_aside() -> Callable[[], None]:
    """Let the functions themselves be changed; return what announces them again."""
    announced = bool(_before)
    _take_away()
    _changes.clear()
    return _put_in_place if announced else _changes.clear


when_arming.append(_step_aside)


def _all_changes() -> Iterator[Change]:
    made: dict[int, Any] = {}
    for owner, name in (*announced_functions(), *announced_methods()):
        original = vars(owner)[name]
        if id(original) not in made:
            made[id(original)] = announcing(op_of(name), original)
        yield owner, name, made[id(original)]
    for name in UNANNOUNCED:
        yield Tensor, name, _unannounced(vars(Tensor)[name])
    yield from announcing_constructors(announcing)
    yield from announcing_attributes(announcing)
    yield from announcing_passes()
    yield from announcing_modes()
    yield from announcing_hooks()
    yield RemovableHandle, "remove", _removing(RemovableHandle.remove)


def announcing(name: str | None, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does what ``original`` does and announces its calls.

    Without a name the first argument is a class, which is what makes the tensor.
    """
    changes = name is not None and _CHANGES(name) is not None

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        now = calling.now
        if now.depth or not call_listeners:
            return original(*args, **kwargs)
        now.depth = 1
        listener = call_listeners[-1]
        if name is None:
            given = PublicCall(args[0].__name__, args[1:], kwargs, next_sequence_nr())
        else:
            given = PublicCall(name, args, kwargs, next_sequence_nr())
        now.call = given
        try:
            if changes or listener.eager:
                listener.began(given)
            result = original(*args, **kwargs)
        except BaseException as error:
            listener.raised(given, error)
            raise
        else:
            listener.ended(given, result)
            return result
        finally:
            now.call = None
            now.depth -= 1

    return call


def _unannounced(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose inner calls are not announced: what prints a tensor."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        now = calling.now
        now.depth += 1
        try:
            return original(*args, **kwargs)
        finally:
            now.depth -= 1

    return call


def _removing(original: Any) -> Any:
    @functools.wraps(original)
    def remove(self: RemovableHandle) -> None:
        original(self)
        for listener in call_listeners:
            listener.hook_removed(self)

    return remove
