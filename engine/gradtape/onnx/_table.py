"""The table of rules: which ONNX nodes stand for which recorded op.

A rule is called with the graph, the recorded call, and the call's own arguments, where
every tensor is a :class:`Value`. It appends nodes and returns the name of its output,
or a tuple of names, one per output; None for an output that ONNX does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

Rule: TypeAlias = Callable[..., "str | tuple[str | None, ...]"]
R = TypeVar("R", bound=Callable[..., Any])

RULES: dict[str, Rule] = {}
"""Name of an op, or of a layer exported as a whole -> its rule."""


class CannotTranslateError(Exception):
    """Raised by a rule with the reason and the way out; the caller adds the place."""


def rule(*names: str) -> Callable[[R], R]:
    """Enter a function as the rule of these ops."""

    def enter(function: R) -> R:
        for name in names:
            RULES[name] = function
        return function

    return enter
