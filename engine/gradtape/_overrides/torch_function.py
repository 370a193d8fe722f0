"""``__torch_function__``: classes of tensors that say themselves what an op does.

The hot paths know the types whose results are plain tensors; every other type goes the
general way, which asks here. Without such a class nothing is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

from .._common.type_name import is_pytorchs
from .._dtypes.table import dtype as DType
from .._graph.op import Op
from .._graph.registry import FUNCTIONS
from .._modes.disable_dispatch import (
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
)
from .._modes.disable_dispatch import disabled as disabled
from .._modes.grad_mode import mode
from .._tensor.subclasses import opinionated
from .._tensor.tensor import Tensor, plain_types

SILENT_TYPES = frozenset(
    (bool, bytes, complex, dict, float, int, slice, str, type(None), type(...), DType)
)
"""What stands among the operands and never has a say."""

NO_ANSWER = (
    "Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
    "NotImplemented:\n\n{handlers}\nFor more information, try re-running with "
    "TORCH_LOGS=not_implemented"
)


class NoAnswerError(TypeError):
    """No class of an op's operands knows what the op gives."""


class Call:
    """An op as ``__torch_function__`` gets it; equal to the function of that name."""

    def __init__(self, run: Callable[..., Any], op: Op, public: Any) -> None:
        self._run, self._op, self._public = run, op, public
        self.__name__ = self.__qualname__ = op.name

    def __call__(self, *args: Any, **options: Any) -> Any:
        op, count = self._op, len(self._op.tensors)
        defaults = {p.name: p.default for p in op.parameters}
        given = dict(zip(op.options, args[count:], strict=False)) | options
        params = tuple(given.get(name, defaults[name]) for name in op.options)
        return self._run(op, tuple(args[:count]), params)

    def __eq__(self, other: object) -> bool:
        return other is self or (self._public is not None and other is self._public)

    def __hash__(self) -> int:
        return hash(self._public)

    def __repr__(self) -> str:
        return f"<built-in method {self.__name__}>"


def has_say(kind: type) -> bool:
    """Tell whether a class defines ``__torch_function__``, and not as a no.

    PyTorch's tensors have no say: they would hand the call back for ever.
    """
    say = getattr(kind, "__torch_function__", disabled)
    return say is not disabled and not is_pytorchs(kind)


def _is_function_of_pytorch(func: Any) -> bool:
    if isinstance(func, BuiltinFunctionType | MethodDescriptorType):
        return True  # ours are written in Python
    module = getattr(func, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == "torch"


def overriding(args: Sequence[Any]) -> list[type]:
    """Return the classes among the operands that have a say, subclasses first."""
    found: list[type] = []
    for arg in args:
        if type(arg) in plain_types:
            continue
        for each in arg if isinstance(arg, list | tuple) else (arg,):
            kind = type(each)
            if kind in plain_types or kind in SILENT_TYPES or kind in found:
                continue
            if not has_say(kind):
                continue
            above = [i for i, known in enumerate(found) if issubclass(kind, known)]
            found.insert(above[0] if above else len(found), kind)
    return found


def ask(
    kinds: Sequence[type],
    run: Callable[..., Any],
    op: Op,
    args: tuple[Any, ...],
    params: tuple[Any, ...],
) -> Any:
    """Let the classes of the operands, in turn, say what the op gives."""
    for kind in kinds:
        if not issubclass(kind, Tensor):  # nobody was told of it yet
            opinionated(kind)
    public = FUNCTIONS.get(op.name, getattr(Tensor, op.name, None))
    call = Call(run, op, public)
    defaults = {p.name: p.default for p in op.parameters}
    options = {
        name: value
        for name, value in zip(op.options, params, strict=True)
        if value is not defaults[name] and value != defaults[name]
    }
    types: Any = tuple(kinds)
    for kind in types:
        found = kind.__torch_function__(call, types, args, options or None)
        if found is not NotImplemented:
            return found
    handlers = "".join(f"  - tensor subclass {kind}\n" for kind in types)
    raise NoAnswerError(NO_ANSWER.format(name=f"torch.{op.name}", handlers=handlers))


def _torch_function(
    cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Run the op on plain tensors and give the result the class, as PyTorch does."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    if _is_function_of_pytorch(func):  # which cannot compute with our tensors
        return NotImplemented
    with DisableTorchFunctionSubclass():
        found = func(*args, **(kwargs or {}))
        if func in unwrapped:
            return found
        modes, mode.now.functions = mode.now.functions, ()  # none sees the cast
        try:
            return _as_class(found, cls)
        finally:
            mode.now.functions = modes


unwrapped: set[Any] = set()
"""Functions whose results keep their own class: the readers of gradients and bases."""


def of_class(source: Any, found: Any) -> Any:
    """Give what was made from ``source`` its class, where classes have a say."""
    kind = type(source)
    if kind in plain_types or not mode.now.overrides:
        return found
    with DisableTorchFunctionSubclass():
        return _as_class(found, kind)


def _as_class(found: Any, cls: Any) -> Any:
    if cls is Tensor:
        return found
    if isinstance(found, Tensor):
        return found if isinstance(found, cls) else found.as_subclass(cls)  # type: ignore[attr-defined]
    if isinstance(found, list | tuple):
        parts = [_as_class(each, cls) for each in found]
        make = getattr(type(found), "_make", type(found))
        return make(parts)
    return found


Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
