"""A version that compares with strings and tuples, as PyTorch's does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

_FORM = re.compile(
    r"v?(\d+(?:\.\d+)*)(?:(a|b|rc|\.dev)(\d+))?(?:\.post\d+)?(?:\+(.*))?"
)
_STAGES = {".dev": -4, "a": -3, "b": -2, "rc": -1, None: 0}


class TorchVersion(str):
    """A version string, ordered by its numbers.

    >>> from gradtape.torch_version import TorchVersion
    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    def _compare(self, other: Any, function: str) -> bool:
        theirs = _key(other)
        if theirs is None:
            return getattr(super(), function)(other)
        return getattr(_key(self), function)(theirs)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, "__ge__")

    def __eq__(self, other: object) -> bool:
        return self._compare(other, "__eq__")

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _key(version: Any) -> tuple[Any, ...] | None:
    """Return what versions are ordered by; None for what is no version."""
    if isinstance(version, Iterable) and not isinstance(version, str):
        version = ".".join(str(part) for part in version)
    match = _FORM.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        return None
    release = [int(part) for part in match[1].split(".")]
    while release and not release[-1]:
        release.pop()  # 2.0 is 2
    return tuple(release), _STAGES[match[2]], int(match[3] or 0), match[4] or ""
