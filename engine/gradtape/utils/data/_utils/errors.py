"""Errors of another process, with the traceback they had there."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn


class KeyErrorMessage(str):
    """A text that KeyError shows as it is; of a plain one it shows the repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The exception being handled, as a type and a text, fit to be sent.

    >>> try:
    ...     {}["a"]
    ... except KeyError:
    ...     found = ExceptionWrapper(where="in a worker")
    >>> found.exc_type
    <class 'KeyError'>
    >>> print(found.message)
    Caught KeyError in a worker.
    Original Traceback (most recent call last):
      ...
    KeyError: 'a'
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        # Only the text is kept: a traceback would keep the frames alive.
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self._name = self.exc_type.__name__  # stays, should another type have to do
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    @property
    def message(self) -> str:
        """What happened where, then the traceback of that process."""
        return f"Caught {self._name} {self.where}.\nOriginal {self.exc_msg}"

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type, with the message.

        RuntimeError stands in for types that are not made of a text.
        """
        message = self.message
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error
