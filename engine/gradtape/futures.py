"""gradtape.futures: values that a thread, or a callback, gives later.

A thin face over :class:`concurrent.futures.Future` with PyTorch's names and sentences.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from concurrent import futures as _concurrent
from typing import Any, Generic, TypeVar

from ._backend.device import device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value to come; callbacks run in the thread that sets it.

    ``devices`` are those the value may lie on. Raises ValueError for one without an
    index.

    >>> import gradtape as torch
    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(torch.tensor([1.0, 2.0]))
    >>> doubled.wait()
    tensor([2., 4.])
    """

    def __init__(self, *, devices: Iterable[Any] | None = None) -> None:
        for each in map(device, devices or ()):
            if each.index is None:
                raise ValueError(f"Expected devices to have indices, got {each}")
        self._inner: _concurrent.Future[T] = _concurrent.Future()

    def done(self) -> bool:
        """Tell whether there is a value or an exception."""
        return self._inner.done()

    def wait(self) -> T:
        """Wait for the value and return it; raise the exception that was set."""
        return self._inner.result()

    def value(self) -> T:
        """Return the value that is there.

        Raises RuntimeError before it is, and the exception that was set instead.
        """
        if not self.done():
            raise RuntimeError(
                "the future has no value yet: call wait(), or value() in a callback"
            )
        return self._inner.result()

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return the future of ``callback(self)``, which runs when this one is done.

        An exception of the callback becomes a RuntimeError of the new future.
        """
        _check(callback, "then")
        after: Future[S] = Future()

        def run(_: object) -> None:
            try:
                result = callback(self)
            except Exception as error:
                after.set_exception(RuntimeError(_failed(error)))
            else:
                after.set_result(result)

        self._inner.add_done_callback(run)
        return after

    def add_done_callback(self, callback: Callable[[Future[T]], object]) -> None:
        """Call ``callback(self)`` when this future is done; its errors are printed."""
        _check(callback, "add_done_callback")

        def run(_: object) -> None:
            try:
                callback(self)
            except Exception as error:
                print(_failed(error), file=sys.stderr)
                traceback.print_exception(error)

        self._inner.add_done_callback(run)

    def set_result(self, result: T) -> None:
        """Set the value, once, and run the callbacks."""
        try:
            self._inner.set_result(result)
        except _concurrent.InvalidStateError:
            raise RuntimeError(_TWICE) from None

    def set_exception(self, result: Any) -> None:
        """Set an exception in place of the value, once, and run the callbacks."""
        if not isinstance(result, Exception):
            raise AssertionError(
                f"{result} is of type {type(result)}, not an Exception."
            )
        try:
            self._inner.set_exception(result)
        except _concurrent.InvalidStateError:
            raise RuntimeError(_TWICE) from None

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")


_TWICE = (
    "Attempting to mark a completed Future as complete again. Note that a Future can "
    "only be marked completed once."
)


def collect_all(futures: Iterable[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return the future of a list of futures: done when all are, or one has failed.

    >>> import gradtape as torch
    >>> one, two = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([one, two])
    >>> one.set_result(1)
    >>> two.set_result(2)
    >>> [each.value() for each in both.wait()]
    [1, 2]
    """
    given = list(futures)
    collected: Future[list[Future[Any]]] = Future()
    lock, missing = threading.Lock(), len(given)

    def one_more(done: Future[Any]) -> None:
        nonlocal missing
        error = done._inner.exception()
        with lock:
            missing -= 1
            if collected.done():
                return
            if error is not None:
                collected.set_exception(error)
            elif missing == 0:
                collected.set_result(given)

    for each in given:
        each.add_done_callback(one_more)
    if not given:
        collected.set_result(given)
    return collected


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """Wait for all futures; return their values, or raise the first exception."""
    return [each.wait() for each in collect_all(futures).wait()]


def _check(callback: object, name: str) -> None:
    if not callable(callback):
        raise TypeError(
            f"{name}(): the callback must be callable, not {type(callback).__name__}"
        )


def _failed(error: Exception) -> str:
    return (
        "Got the following error when running the callback: "
        f"{type(error).__name__}: {error}"
    )
