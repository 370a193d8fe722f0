"""What a function has besides its arguments: a derivative forbids to write it.

PyTorch marks what a transform is given and makes, and refuses writes to the rest. Here
tensors of all transforms are alike. So what is within reach of a function is noted
before it runs: its closure, the globals it names, modules and containers in them.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any

from .._common.site import internal_files
from .._dispatch.view_history import check_inplace
from .._tensor.subclasses import names_in
from .._tensor.tensor import Tensor
from .._tensor.write_observers import before_write
from ..nn import Module
from ..utils._pytree import tree_leaves

_MUTATED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
    "call in-place operation (aten::{}) that would mutate a captured Tensor. This is "
    "not supported; please rewrite the function being transformed to explicitly accept "
    "the mutated Tensor(s) as inputs."
)
_ARITHMETIC = ("add_", "div_", "mul_", "sub_")
_WRITER = re.compile(r"[a-z]\w*(?<!_)_")
_HOOKS_AND_SWITCHES = vars(Module()).keys() - {"_buffers", "_modules", "_parameters"}
"""What every module has, and no tensors in it."""

_MANY = 1000
"""Longer lists are taken for data."""


@contextmanager
def guarding(func: Any, given: Any) -> Generator[None]:
    """Refuse ops in place on what ``func`` has from outside and is not ``given``.

    PyTorch overlooks ``out=``.
    """
    captured, thread = list(_within_reach(func)), threading.get_ident()

    @functools.cache
    def forbidden() -> set[int]:
        return _memory_of(captured) - _memory_of(tree_leaves(given))

    def look(target: Tensor) -> None:
        if sys._getframe(1).f_code is not check_inplace.__code__:
            return
        if threading.get_ident() == thread and _memory_of([target]) & forbidden():
            raise RuntimeError(_MUTATED.format(_called()))

    if captured:
        before_write.append(look)
    try:
        yield
    finally:
        if captured:
            before_write.remove(look)


def _memory_of(values: Iterable[Any]) -> set[int]:
    return {
        id(each._storage.owner)
        for each in values
        if isinstance(each, Tensor) and not each.is_sparse
    }


def _called() -> str:
    """Return PyTorch's name of the op that is about to write."""
    frame = sys._getframe(2)
    while frame.f_back is not None and not _WRITER.fullmatch(frame.f_code.co_name):
        frame = frame.f_back
    name = frame.f_code.co_name
    return f"{name}.Tensor" if name in _ARITHMETIC else name


def _within_reach(func: Any) -> Iterable[Tensor]:
    """Find the tensors that a function can get at without being given them."""
    waiting: list[Any] = [func]
    seen: dict[int, Any] = {}
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, FunctionType):
            waiting += _held_by(each)
        elif isinstance(each, MethodType):
            waiting += [each.__func__, *getattr(each.__self__, "__dict__", {}).values()]
        elif isinstance(each, functools.partial):
            waiting += [each.func, *each.args, *each.keywords.values()]
        elif isinstance(each, Module):
            held = vars(each)
            waiting += [held[name] for name in held.keys() - _HOOKS_AND_SWITCHES]
        elif each is func:
            waiting += getattr(each, "__dict__", {}).values()
        elif isinstance(each, list | tuple | dict) and len(each) <= _MANY:
            waiting += each.values() if isinstance(each, dict) else each


def _held_by(function: FunctionType) -> list[Any]:
    """Return what stands in a function's closure, its defaults and its globals."""
    code, outside = function.__code__, function.__globals__
    held: list[Any] = [*(function.__defaults__ or ())]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # it is still empty
            continue
    if internal_files[code.co_filename]:
        return held
    for name in names_in(code):
        value = outside.get(name)
        foreign = isinstance(value, FunctionType) and value.__globals__ is not outside
        if not foreign:
            held.append(value)
    return held
