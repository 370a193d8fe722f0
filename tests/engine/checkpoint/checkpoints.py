"""Shared by the tests of checkpoints: call one, count calls, change what is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def run(torch: Any, function: Any, *args: Any, **options: Any) -> Any:
    """Checkpoint a call under ``torch``; without reentry unless said otherwise."""
    options.setdefault("use_reentrant", False)
    return torch.utils.checkpoint.checkpoint(function, *args, **options)


def counted(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """Return a function and a list that has one entry per call of it."""
    calls: list[int] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(len(calls))
        return function(*args, **kwargs)

    return call, calls


def changing(first: Callable[[Any], Any], then: Callable[[Any], Any]) -> Any:
    """Return a function that is ``first`` when called once, ``then`` afterwards."""
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(1)
        return first(x) if len(calls) == 1 else then(x)

    return function
