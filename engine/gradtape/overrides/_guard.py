"""Asking modes and classes before a function runs, at no cost to who has neither.

A test in front of every function would cost each call of every program what a few
programs need. So the functions change when the first of these comes up, a mode or a
class of its own mind: each gets a body that asks first, and keeps what it did before
as ``plain``. The function objects stay, so that ``func is torch.add`` holds, whenever
a name was imported.

For the same reason a function is there twice: as a method it is an object of its own,
as in PyTorch. Whoever answers for functions tells ``torch.Tensor.add`` from
``torch.add`` by identity. Both run the same code.
"""

from __future__ import annotations

import inspect
from inspect import getattr_static
from types import CodeType, FunctionType
from typing import Any

from .._graph.registry import FUNCTIONS
from .._modes.grad_mode import mode
from .._overrides.modes import hand_over, takers
from .._overrides.torch_dispatch import answer_leaf, asked, dispatching
from .._overrides.torch_function import NoAnswerError
from .._tensor.tensor import Tensor

entries: dict[FunctionType, Entry] = {}
"""The functions that ask, since :func:`arm`."""


class Entry:
    """One function that asks: what modes are told it is, and what it does itself."""

    __slots__ = ("by_modes", "defers", "fills", "leaf", "plain", "shown", "tuples")

    def __init__(
        self,
        shown: Any,
        plain: FunctionType,
        *,
        by_modes: bool = False,
        defers: bool = False,
        fills: bool = False,
        leaf: str = "",
        tuples: bool = False,
    ) -> None:
        self.shown = shown
        self.plain = plain
        self.by_modes = by_modes  # classes have no say: it takes no tensors
        self.defers = defers  # an operator: the other operand may know instead
        self.fills = fills  # whoever answers is told the defaults too
        self.leaf = leaf  # PyTorch's op, where there is none here to be asked about
        self.tuples = tuples  # and gets single tensors as tuples of one

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        now = mode.now
        if now.once:
            now.once = False
            return self._run(args, kwargs)
        found: list[Any] = []
        if now.overrides and not self.by_modes:
            takers(args, found)
            if kwargs:
                takers(kwargs.values(), found)
        if not found and not now.functions:
            return self._run(args, kwargs)
        if self.fills:
            args, kwargs = self._filled(args, kwargs)
        if self.tuples:
            args = tuple([a if isinstance(a, tuple) else (a,) for a in args])
        try:
            return hand_over(
                self.shown,
                found,
                args,
                kwargs or self._no_options(),
                self.fills,
            )
        except TypeError as error:
            if self.defers:  # also what a class itself raises, as in PyTorch
                return NotImplemented
            if isinstance(error, NoAnswerError):
                raise TypeError(str(error)) from None
            raise

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.leaf and (mode.now.dispatch or dispatching):
            kinds = asked((*args, *kwargs.values()))
            if kinds is not None:
                return answer_leaf(self.leaf, self.plain, args, kwargs, kinds)
        return self.plain(*args, **kwargs)

    def _no_options(self) -> dict[str, Any] | None:
        return {} if self.fills else None

    def _filled(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Name every argument that has a default, as Python's functions do."""
        signature = inspect.signature(self.plain)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return args, kwargs
        bound.apply_defaults()
        filled: dict[str, Any] = {}
        firsts: list[Any] = []
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                firsts += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                filled |= value
            elif parameter.default is parameter.empty:
                firsts.append(value)
            else:
                filled[name] = value
        return tuple(firsts), filled


_ENTRY = "the entry"


def _asking_of(free: Any) -> FunctionType:
    def asking(*args: Any, **kwargs: Any) -> Any:
        entry: Any = "the entry"
        return entry(args, kwargs)
        return free  # never, but named here it makes a closure

    return asking  # type: ignore[return-value]


_ASKING = _asking_of(None).__code__


def guard(function: FunctionType, shown: Any, **facts: Any) -> None:
    """Give a function the body that asks first."""
    before = function.__code__
    plain = twin_of(function)
    entries[function] = entry = Entry(shown, plain, **facts)
    function.__code__ = _code_for(entry, before)
    function.__wrapped__ = plain  # type: ignore[attr-defined]  # its signature


def _code_for(entry: Entry, before: CodeType) -> CodeType:
    constants = tuple(
        entry if isinstance(each, str) and each == _ENTRY else each
        for each in _ASKING.co_consts
    )
    # The closure stays, unused, but whoever lists the locals of a frame reads it: the
    # first instruction copies its cells there, and its argument says how many.
    copy, _, *rest = _ASKING.co_code
    return _ASKING.replace(
        co_code=bytes((copy, len(before.co_freevars), *rest)),
        co_consts=constants,
        co_freevars=before.co_freevars,
        co_name=before.co_name,
        co_qualname=before.co_qualname,
    )


def own_code(function: FunctionType) -> CodeType:
    """Return what a function itself runs, whether it asks first or not."""
    entry = entries.get(function)
    return function.__code__ if entry is None else entry.plain.__code__


def is_guardable(function: Any) -> bool:
    """Tell whether it is a function of this library whose body can be replaced."""
    return (
        type(function) is FunctionType
        and function not in entries
        and not function.__code__.co_flags
        & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)
    )


# ---- a function as a method ----


def twin_of(function: FunctionType) -> Any:
    """Return another function that does the same."""
    twin = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__qualname__ = function.__qualname__
    twin.__module__ = function.__module__
    twin.__doc__ = function.__doc__
    twin.__dict__.update(function.__dict__)
    return twin


def part_methods() -> None:
    """Give Tensor methods of its own where they were functions or other methods."""
    seen = set(FUNCTIONS.values())
    for name in {n: None for kind in Tensor.__mro__[:-1] for n in vars(kind)}:
        found = getattr_static(Tensor, name)
        if type(found) is FunctionType:
            if found in seen:
                twin = twin_of(found)
                twin.__name__ = name
                setattr(Tensor, name, twin)
            seen.add(found)
        elif type(found) is property and found.fget in seen:
            read = twin_of(found.fget)  # pyright: ignore[reportArgumentType]
            setattr(Tensor, name, property(read, found.fset, found.fdel, found.__doc__))


def part_names() -> None:
    """Make functions of several names several functions."""
    for name, function in FUNCTIONS.items():
        own = getattr(function, "__name__", name)
        if type(function) is not FunctionType:
            continue  # a class may have several names
        if own != name and FUNCTIONS.get(own) is function:
            twin = twin_of(function)
            twin.__name__ = name
            FUNCTIONS[name] = twin
