"""Functions in their compiled form, where this package was built with a compiler.

The extension module ``_compiled`` has makers: each takes the globals of a function and
returns the same function, compiled from the same lines. It is optional, and stands in
for exactly the bytecode that it was made of: after a change of the source the function
itself runs, until the module is built anew. ``GRADTAPE_PURE=1`` leaves it aside.

Compiled functions have no frames.
"""

from __future__ import annotations

import functools
import importlib
import linecache
import os
import zlib
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

Maker = Callable[[dict[str, Any]], Any]

_FILES = "<gradtape>/"
"""What the files of compiled functions are called in tracebacks: their folder is not
known to the compiler, and what begins so is nobody's but ours."""


def _makers() -> dict[str, tuple[Maker, int]]:
    if os.environ.get("GRADTAPE_PURE"):
        return {}
    try:
        module = importlib.import_module(f"{__name__.partition('.')[0]}._compiled")
    except ImportError:
        return {}
    for file in module.FILES:  # for tracebacks, which know no folder for them
        linecache.cache[file] = (functools.partial(_source_of, file),)
    return module.MAKERS


def _source_of(file: str) -> str:
    own = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
    with open(own + file.removeprefix(_FILES), encoding="utf-8") as source:
        return source.read()


_MAKERS = _makers()


def maker_of(function: Callable[..., Any]) -> Maker | None:
    """Return what makes the compiled form of a function; None where there is none."""
    name = f"{function.__module__.partition('.')[2]}.{function.__qualname__}"
    maker, mark = _MAKERS.get(name, (None, 0))
    if maker is None or mark != fingerprint(cast(Any, function).__code__):
        return None
    return maker


def compiled(function: F) -> F:
    """Return the compiled form of a function, or itself.

    To be called where all globals that it reads have their values, at a module's end:
    it takes them once. ``inspect.unwrap`` gives the function itself.
    """
    maker = maker_of(function)
    if maker is None:
        return function
    made = maker(cast(Any, function).__globals__)
    for name in ("__module__", "__qualname__", "__doc__", "__annotations__"):
        setattr(made, name, getattr(function, name))
    made.__wrapped__ = function
    return made


def frames(*functions: Callable[..., Any]) -> int:
    """Return how many of these functions, called in turn, have a frame."""
    return sum(maker_of(each) is None for each in functions)


def is_any() -> bool:
    """Tell whether some functions are compiled."""
    return bool(_MAKERS)


def fingerprint(code: CodeType) -> int:
    """Return a number that another body, or another place in the file, changes."""
    parts: list[Any] = [code.co_code, code.co_names, code.co_varnames]
    parts += [code.co_firstlineno, code.co_argcount, code.co_kwonlyargcount]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constant = fingerprint(constant)
        elif isinstance(constant, frozenset):  # which has no order of its own
            constant = sorted(map(repr, cast(Any, constant)))
        parts.append(constant)
    return zlib.crc32(repr(parts).encode())
