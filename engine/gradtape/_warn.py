"""Warnings that PyTorch gives once per process, not once per line."""

from __future__ import annotations

import warnings

_given: set[str] = set()
_always = False


def warn_once(message: str, stacklevel: int = 3) -> None:
    """Give a UserWarning the first time it is due; later, only where asked to."""
    if _always or message not in _given:
        _given.add(message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


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
