"""Library: ops by their schemas, and functions for them by the key that calls them.

PyTorch's dispatcher has many keys. Here are those of devices, of derivatives and of
functions that are made of other ops.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any, Final

from .._common.refusals import OutOfReachError
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor
from ..autograd.function import Function
from ..ops._custom import take_away
from ..utils._pytree import tree_leaves
from .custom_op import UserOp, defined, register_fake
from .schema import Schema, parse_schema

_DEFINED_TWICE: Final = (
    "Tried to register an operator ({}) with the same name and overload name multiple "
    "times. Each overload's schema should only be registered with a single call to "
    "def()."
)
_NO_AUTOGRAD: Final = (
    "{}: an autograd kernel was not registered to the Autograd key(s) but we are "
    "trying to backprop through it. This may lead to silently incorrect behavior. This "
    "behavior is deprecated and will be removed in a future version of PyTorch. If "
    "your operator is differentiable, please ensure you have registered an autograd "
    "kernel to the correct Autograd key (e.g. DispatchKey::Autograd, "
    "DispatchKey::CompositeImplicitAutograd). If your operator is not differentiable, "
    "or to squash this warning and use the previous behavior, please register "
    "torch::CppFunction::makeFallthrough() to DispatchKey::Autograd."
)
_ONE_LIBRARY: Final = (
    "Only a single TORCH_LIBRARY can be used to register the namespace {}; please put "
    "all of your definitions in a single TORCH_LIBRARY block."
)
_RESERVED: Final = (
    "prim is a reserved namespace. Please try creating a library with another name."
)
_NOT_HERE: Final = (
    'def("{}"): Cannot define an operator inside of a {} block.  All def()s should be '
    "placed in the (unique) TORCH_LIBRARY block for their namespace.  "
)
_OTHER_NAMESPACE: Final = (
    'impl("{name}", ...): Explicitly provided namespace ({other}) in operator name '
    "does not match namespace of enclosing {block} block ({own}).  Move this "
    "definition to the {block} block corresponding to this namespace (and consider "
    "deleting the namespace from your schema string.)  "
)
_BLOCKS: Final = {
    "DEF": "TORCH_LIBRARY",
    "FRAGMENT": "TORCH_LIBRARY_FRAGMENT",
    "IMPL": "TORCH_LIBRARY_IMPL",
}
_DEVICES: Final = {"CPU": "cpu", "CUDA": "cuda", "CompositeExplicitAutograd": None}
_AUTOGRAD: Final = ("Autograd", "AutogradCPU", "AutogradCUDA")
_COMPOSITE: Final = ("", "CompositeImplicitAutograd")

_below: ContextVar[bool] = ContextVar("below_autograd", default=False)
"""Whether kernels for derivatives are passed over."""

fallback_mode: ContextVar[str] = ContextVar("autograd_fallback_mode", default="warn")
"""What ops without a derivative do in backward: "warn" or "nothing"."""


class AutoDispatchBelowAutograd:
    """Passes over kernels for derivatives, as they do to call the op itself.

    It does so in a ``with`` block, or for as long as somebody holds it.
    """

    def __init__(self) -> None:
        self._token: Token[bool] | None = _below.set(True)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _below.reset(self._token)
            self._token = None

    __del__ = __exit__


def fallthrough_kernel() -> None:
    """Stand for "go on with the next key" in :meth:`Library.impl`."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class LibraryOp(UserOp):
    """An op that :meth:`Library.define` made."""

    _autograd: Callable[..., Any] | None = None
    _composite: Callable[..., Any] | None = None

    def __init__(self, schema: Schema, tags: Any = ()) -> None:
        super().__init__(schema, tags)
        for key, function in _waiting.get(self._qualname, {}).items():
            implement(self, key, function)

    @property
    def has_derivative(self) -> bool:
        """Whether somebody said how it is differentiated."""
        own = self._autograd is not None or self._composite is not None
        return own or super().has_derivative

    def _evaluate(self, values: tuple[Any, ...]) -> Any:
        given, named = self._schema.split(values)
        if self._composite is not None and not self._kernels:
            return self._composite(*given, **named)
        silent = self._autograd is fallthrough_kernel or _below.get()
        if self._autograd is not None and not silent:
            return self._autograd(*given, **named)
        ruled = self._backward is not None or self._vmap is not None
        if ruled and not silent:
            return super()._evaluate(values)
        inputs = [each for each in tree_leaves(values) if isinstance(each, Tensor)]
        follows = mode.now.grad and any(each.requires_grad for each in inputs)
        found = self.run(*values)
        written = self._written(values)
        if silent or not follows or fallback_mode.get() == "nothing":
            return found
        if isinstance(found, tuple | list):
            return type(found)(self._warning(each, inputs, written) for each in found)
        return self._warning(found, inputs, written)

    def _warning(self, result: Any, inputs: list[Tensor], written: list[Tensor]) -> Any:
        """Return a result that warns when somebody differentiates it."""
        if not isinstance(result, Tensor):
            return result
        if result.requires_grad:
            result.register_hook(lambda _: self._warn())
            base: Any = result._base
            if base is not None and base.requires_grad and _among(result, written):
                base.register_hook(lambda _: self._warn())
        elif result._data.dtype.kind in "fcV" and not _among(result, inputs):
            return WarnNotImplemented.apply(self, [result], *inputs)
        return result

    def _warn(self) -> None:
        warnings.warn(_NO_AUTOGRAD.format(self._qualname), stacklevel=2)


def _among(tensor: Tensor, others: list[Tensor]) -> bool:
    return any(each is tensor for each in others)


def implement(op: UserOp, key: str, function: Callable[..., Any]) -> None:
    """Let a key call a function for an op."""
    if key in _DEVICES:
        op.register_kernel(_DEVICES[key], function)
    elif key == "Meta":
        op.register_fake(function)
    elif key in _AUTOGRAD and isinstance(op, LibraryOp):
        op._autograd = function
    elif key in _COMPOSITE and isinstance(op, LibraryOp):
        op._composite = function
    else:
        raise _out_of_reach(key)


def _out_of_reach(key: str) -> Exception:
    return OutOfReachError(
        f"the dispatch key {key} is out of reach of gradtape; there are "
        f"{', '.join((*_DEVICES, 'Meta', *_AUTOGRAD, _COMPOSITE[1]))}"
    )


class WarnNotImplemented(Function):
    """The node of a result whose op has no derivative: it warns, and stops there."""

    @staticmethod
    def forward(ctx: Any, op: LibraryOp, results: list[Tensor], *inputs: Tensor) -> Any:
        """Return the only result."""
        ctx.op, ctx.count = op, len(inputs) + 2
        return results[0]

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        """Warn."""
        ctx.op._warn()
        return (None,) * ctx.count


WarnNotImplemented._backward_cls.__name__ = "WarnNotImplemented"


_waiting: dict[str, dict[str, Callable[..., Any]]] = {}
"""Functions for ops that are not defined yet, by name and key."""


class _Registrations:
    """What a library registered goes with it, or when its ``m`` is deleted."""


_whole: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
"""The namespaces that a library of kind DEF has for itself."""


class Library:
    """Ops of one namespace; they are there as long as the library is.

    ``kind`` is "DEF" for a namespace of its own, "FRAGMENT" for more ops in one, and
    "IMPL" for functions only.

    >>> import gradtape as torch
    >>> lib = torch.library.Library("docs_library", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> torch.ops.docs_library.twice(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if kind == "DEF":
            if ns == "aten" or ns in _whole:
                raise RuntimeError(_ONE_LIBRARY.format(ns))
            _whole[ns] = self
        elif ns == "aten":
            raise OutOfReachError(
                "other functions for the ops that are there are out of reach of "
                "gradtape; use a TorchDispatchMode"
            )
        if ns == "prim" and kind != "IMPL":
            raise ValueError(_RESERVED)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._op_defs: set[str] = set()
        self._waits: list[tuple[str, str, Callable[..., Any]]] = []
        frame = sys._getframe(1)
        self._place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.m = _Registrations()
        self._end = weakref.finalize(self.m, _forget, self._op_defs, self._waits)

    def __repr__(self) -> str:
        return (
            f"Library(kind={self.kind}, ns={self.ns}, "
            f"dispatch_key={self.dispatch_key})>"
        )

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an op by its schema, and return its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        name = schema.partition("(")[0]
        if self.kind == "IMPL":
            raise self._refused(_NOT_HERE.format(name, _BLOCKS[self.kind]))
        parsed = parse_schema(f"{self.ns}::{schema}")
        if parsed.full_name in defined:
            raise RuntimeError(_DEFINED_TWICE.format(parsed))
        self._op_defs.add(LibraryOp(parsed, tags)._qualname)
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Let a key, of those of this library by default, call a function for an op.

        The op may be defined later.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = op_name if isinstance(op_name, str) else op_name.name()
        space, is_full, short = name.rpartition("::")
        if is_full and space != self.ns:
            block = _BLOCKS[self.kind]
            raise self._refused(
                _OTHER_NAMESPACE.format(
                    name=name, other=space, block=block, own=self.ns
                )
            )
        name, key = f"{self.ns}::{short}", dispatch_key or self.dispatch_key
        if name in defined:
            implement(defined[name], key, fn)
            return
        if key not in (*_DEVICES, "Meta", *_AUTOGRAD, *_COMPOSITE):
            raise _out_of_reach(key)
        _waiting.setdefault(name, {})[key] = fn
        self._waits.append((name, key, fn))

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], **_: Any
    ) -> Callable[..., Any]:
        return register_fake(f"{self.ns}::{op_name}", fn)

    def _refused(self, sentence: str) -> Exception:
        where = f"{_BLOCKS[self.kind]} block at {self._place}"
        return RuntimeError(f"{sentence}(Error occurred while processing {where})")

    def _destroy(self) -> None:
        self._end()


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Generator[Library]:
    """Make a library for a ``with`` block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def _forget(names: set[str], waits: list[tuple[str, str, Callable[..., Any]]]) -> None:
    for name in names:
        take_away(defined.pop(name)._opoverload)
    names.clear()
    for name, key, function in waits:
        if _waiting.get(name, {}).get(key) is function:
            del _waiting[name][key]
    waits.clear()
