"""``__torch_dispatch__``: who says what an op gives, below autograd.

A mode stands before every op of its thread; a class of tensors stands before the ops
that one of its tensors takes part in. Whoever is asked gets the op under PyTorch's name
and the operands as they came. What they return is what autograd goes on with, which
itself is out of their sight. Without a mode or such a class nothing is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from .._backend.device import default_device
from .._graph.node import Node
from .._graph.observe import install_answering
from .._graph.op import Op
from .._modes.grad_mode import mode
from .._tensor.memory import keeps_values_elsewhere
from .._tensor.subclasses import dispatching as dispatching
from .._tensor.tensor import Tensor, kind_now, view_info, wrap
from .torch_function import SILENT_TYPES, NoAnswerError

NO_ANSWER: Final = (
    "Multiple dispatch failed for '{name}'; all __torch_dispatch__ handlers returned "
    "NotImplemented:\n\n{handlers}\nFor more information, try re-running with "
    "TORCH_LOGS=not_implemented"
)

CLASS_METHOD: Final = (
    "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, "
    "please make it a plain method"
)

READERS: Final = frozenset(
    f"{name}.default" for name in ("_local_scalar_dense", "allclose", "detach", "equal")
)
"""Of the functions that are asked about whole, those that make no memory."""

_NAMED: Final = frozenset(
    (
        *("alpha", "approximate", "beta", "check_errors", "correction", "driver"),
        *("dtype", "generator", "implicit", "include_self", "memory_format"),
        "rounding_mode",
    )
)
"""Options that PyTorch's ops take by name only, and with them all that follow."""


_overload_of: Callable[[Op, Sequence[Any], str], Any]
_aten: Any


def install_names(
    overload_of: Callable[[Op, Sequence[Any], str], Any], aten: Any
) -> None:
    """Let the ops say what PyTorch calls each of them: modes and classes ask for it."""
    global _overload_of, _aten
    _overload_of, _aten = overload_of, aten


class Asking(NamedTuple):
    """What a mode or class is asked about at the moment."""

    func: Any
    run: Callable[[Any, Any], Any]  # what calling ``func`` does: (args, kwargs)
    grad: bool  # whether autograd records what comes of it
    view: bool  # whether it looks into its operand's memory


def _is_answering() -> bool:
    return mode.now.asking is not None


install_answering(_is_answering)

by_classes: WeakSet[Node] = WeakSet()
"""The nodes of ops that a class answered for: backward runs them on its tensors."""


def asked(operands: Iterable[Any]) -> list[type] | None:
    """Return the classes that have a say, subclasses first; None where nobody has."""
    found: list[type] = []
    if dispatching and mode.now.dispatches:
        _collect(operands, found)
    return found if found or mode.now.dispatch else None


def _collect(values: Iterable[Any], found: list[type]) -> None:
    for value in values:
        kind = type(value)
        if kind is list or kind is tuple:
            _collect(value, found)
        elif kind in dispatching and kind not in found:
            above = [i for i, known in enumerate(found) if issubclass(kind, known)]
            found.insert(above[0] if above else len(found), kind)


def answer(
    run: Callable[..., Any],
    op: Op,
    args: Sequence[Any],
    params: Sequence[Any],
    kinds: list[type],
    suffix: str = "",
) -> Any:
    """Let modes and classes say what an op gives; ``run(op, args, params)`` runs it.

    ``suffix`` is that of the name: "_" in place.
    """

    def again(args: Any, kwargs: Any) -> Any:
        return run(op, *_bound(op, args, kwargs))

    func = _overload_of(op, args, suffix)
    spelled = _spelled(op, args, params)
    found = ask(func, kinds, *spelled, again, op.view is not None)
    several = isinstance(found, list | tuple)
    for each in found if several else (found,):
        if not isinstance(each, Tensor | None):
            raise RuntimeError(f"Unable to cast {each} to Tensor")
    return found


def ask(
    func: Any,
    kinds: list[type],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    run: Callable[[Any, Any], Any],
    view: bool = False,
    name: str = "",
) -> Any:
    """Let the innermost mode and then the classes answer for ``func``.

    Called by one of them, ``func`` is ``run(args, kwargs)``; the mode is left out of
    what it runs itself. Raises TypeError where all of them answer NotImplemented.
    """
    now, types = mode.now, tuple(kinds)
    before = now.grad, now.casting, now.forward, now.asking
    modes = now.dispatch
    now.asking = Asking(func, run, now.grad, view)
    now.grad, now.casting, now.forward = False, None, False
    try:
        for who in (*modes[-1:], *types):
            now.dispatch = modes if isinstance(who, type) else modes[:-1]
            now.settle()
            method = who.__torch_dispatch__
            if modes and getattr(method, "__self__", None) is type(who):
                raise RuntimeError(CLASS_METHOD)
            found = method(func, types, args, kwargs)
            if found is not NotImplemented:
                return found
    finally:
        now.grad, now.casting, now.forward, now.asking = before
        now.dispatch = modes
        now.settle()
    handlers = [f"  - mode object {each}\n" for each in modes[-1:]]
    handlers += [f"  - tensor subclass {kind}\n" for kind in types]
    name = name or f"{func.__module__}.{func.__name__}"
    raise NoAnswerError(NO_ANSWER.format(name=name, handlers="".join(handlers)))


def answer_leaf(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kinds: list[type],
) -> Any:
    """Let them say what a function gives that is one op of PyTorch's, but none here."""
    packet, _, overload = name.partition(".")
    given = {key: value for key, value in kwargs.items() if value is not None}
    needs = given.pop("requires_grad", False)
    at = 1 if args and isinstance(args[0], Tensor) else 0
    if len(args) > at and all(isinstance(each, int) for each in args[at:]):
        args = (*args[:at], list(args[at:]))  # a size, written out
    if name not in READERS:
        if not at:
            given.setdefault("device", default_device())
        given.setdefault("pin_memory", False)

    def run(args: Any, kwargs: Any) -> Any:
        return function(*args, **{k: v for k, v in kwargs.items() if k != "pin_memory"})

    func = getattr(getattr(_aten, packet), overload)
    found = ask(func, kinds, args, given, run)
    return found.requires_grad_() if needs else found


def shares_memory(result: Tensor, operand: Tensor) -> bool:
    """Tell whether an answer is a plain view of an operand, as the op itself makes."""
    return type(result) is Tensor and result._memory is operand._memory is not None


def adopt(view: Tensor, source: Tensor, kind: str = "") -> None:
    """Make what a class without memory gave for a view one of ``source``."""
    if not keeps_values_elsewhere(view):
        return
    storage = view._memory = source._storage
    base = source if source._base is None else source._base
    kind = kind if mode.grad else kind_now()
    view._view = view_info(base, view.storage_offset(), kind, storage.version)


def _spelled(
    op: Op, args: Sequence[Any], params: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return operands and options as PyTorch hands them on: without defaults."""
    values = dict(zip(op.tensors, args, strict=True))
    values.update(zip(op.options, params, strict=True))
    given: list[Any] = []
    named: dict[str, Any] = {}
    count, by_name = 0, False  # up to the last that is no default
    for p in op.parameters:
        value = values[p.name]
        known = type(value) is type(p.default) in SILENT_TYPES
        default = value is None or (known and value == p.default)
        value = _tensors_in(value)
        by_name = by_name or p.kind is p.KEYWORD_ONLY or p.name in _NAMED
        if by_name:
            if not default and (value or p.name != "keepdim"):
                named[p.name] = value
            continue
        given.append(value)
        count = count if default else len(given)
    return tuple(given[:count]), named


def _bound(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return operands and options as our ops take them."""
    values = {
        p.name: None if p.default is p.empty else p.default for p in op.parameters
    }
    values.update(zip(values, args, strict=False))
    values.update(kwargs)
    options = [values[name] for name in op.options]
    return (
        tuple(values[name] for name in op.tensors),
        tuple(_arrays_in(option) for option in options),
    )


def _tensors_in(value: Any) -> Any:
    """Return an option as PyTorch hands it on: lists, and tensors of our arrays.

    Among indices, None stands for the slice that a whole dimension is here.
    """
    if type(value) is tuple:
        return [_tensors_in(each) for each in value]
    if type(value) is slice:
        return None
    array = hasattr(value, "strides") and not isinstance(value, Tensor)
    return wrap(value) if array else value


def _arrays_in(value: Any) -> Any:
    if type(value) is list:
        return tuple(
            slice(None) if each is None else _arrays_in(each) for each in value
        )
    return value._data if isinstance(value, Tensor) else value
