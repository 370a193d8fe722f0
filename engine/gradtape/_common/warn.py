"""Warnings that PyTorch gives once per process, not once per line."""

from __future__ import annotations

import warnings

from .site import user_stacklevel

_given: set[str] = set()
_always = False


def warn_once(message: str, cause: str = "") -> None:
    """Give a UserWarning at the user's line, the first time it is due.

    Later it is given only where :func:`set_warn_always` asks for that.
    Messages that differ in details alone share a ``cause``, and come once together.
    """
    given = not _always and (cause or message) in _given
    if not _always:
        _given.add(cause or message)
    if not given:
        warnings.warn(message, UserWarning, stacklevel=user_stacklevel())


def set_warn_always(b: bool, /) -> None:
    """Say whether warnings that come once per process shall come every time.

    Raises RuntimeError for what is not a bool.

    >>> import gradtape as torch
    >>> torch.set_warn_always(True)
    >>> torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    global _always  # noqa: PLW0603 - one switch for the process, as in PyTorch
    if not isinstance(b, bool):
        kind = type(b).__name__
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {kind}")
    _always = b


def is_warn_always_enabled() -> bool:
    """Return whether :func:`set_warn_always` is on."""
    return _always
