"""Ops of your own: a function of tensors that the rest treats as one op.

>>> import numpy as np
>>> import gradtape as torch
>>> @torch.library.custom_op("docs::sin", mutates_args=())
... def sin(x: torch.Tensor) -> torch.Tensor:
...     return torch.from_numpy(np.sin(x.numpy()))
>>> def setup_context(ctx, inputs, output):
...     ctx.save_for_backward(*inputs)
>>> def backward(ctx, grad):
...     return grad * ctx.saved_tensors[0].cos()
>>> sin.register_autograd(backward, setup_context=setup_context)
>>> x = torch.zeros(2, requires_grad=True)
>>> torch.ops.docs.sin(x).sum().backward()
>>> x.grad
tensor([1., 1.])

Ops that are defined by a schema, and functions for them, are registered one by one:

>>> torch.library.define("docs::cube", "(Tensor x) -> Tensor")
>>> @torch.library.impl("docs::cube", "cpu")
... def cube(x):
...     return x.detach() ** 3
>>> torch.ops.docs.cube(torch.full((2,), 2.0))
tensor([8., 8.])
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final

from ._backend.device import device as Device
from ._C import DispatchKey
from ._common.refusals import refused_names
from ._library.custom_op import CustomOpDef, defined, definition_of
from ._library.custom_op import register_fake as _register_fake
from ._library.infer_schema import infer_schema as infer_schema
from ._library.library import Library as Library
from ._library.library import _scoped_library as _scoped_library
from ._library.library import fallthrough_kernel as fallthrough_kernel
from ._library.opcheck import opcheck as opcheck
from ._library.utils import parse_namespace

globals().update(refused_names("library"))

_RENAMED: Final = (
    "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. "
    "Please use that instead; we will remove `torch.library.impl_abstract` in a future "
    "version of PyTorch."
)
_KEYS: Final = {"cpu": "CPU", "cuda": "CUDA", "default": "CompositeExplicitAutograd"}
_NAMELESS: Final = re.compile(r"\(.*\)\s*->.*", re.DOTALL)

_kept: list[Library] = []
"""Libraries that nobody else holds."""


def _library_of(qualname: str, lib: Library | None) -> Library:
    """Return the library to register an op with, by default one of its own."""
    namespace, _ = parse_namespace(qualname)
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        _kept.append(lib)
    return lib


def define(
    qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()
) -> Any:
    """Define an op by its name and schema.

    With a library in place of a name it decorates the function of the op, whose name
    is in the schema.
    """
    if isinstance(qualname, Library):

        def make(function: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(qualname.define(schema), function)
            return function

        return make
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    library = _library_of(qualname, lib)
    if not _NAMELESS.fullmatch(schema):
        raise ValueError(
            "define(qualname, schema, ...): expected schema to look like e.g. "
            f'"(Tensor x) -> Tensor" but got "{schema}"'
        )
    library.define(qualname.partition("::")[2] + schema, tags=tags)
    return None


def impl(
    qualname: Any,
    types: str | Iterable[str] = "",
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Give an op a function for some devices, or for "default": all; decorates too.

    With a library in place of a name it takes the name of the op, and a key.
    """
    if isinstance(qualname, Library):

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(types, function, func or "")
            return function

        return register
    keys = [_key_of(each) for each in ((types,) if isinstance(types, str) else types)]

    def give(function: Callable[..., Any]) -> None:
        library = _library_of(qualname, lib)
        for key in keys:
            library.impl(qualname, function, key)

    return give if func is None else give(func)


def _key_of(name: str) -> str:
    """Return the key of a type of device, or a key as it is; refuse other names."""
    if name in _KEYS or hasattr(DispatchKey, name):
        return _KEYS.get(name, name)
    return Device(name.lower() if name.isupper() else name).type.upper()


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function of tensors an op, ``ops.<namespace>.<name>``; decorates too.

    ``mutates_args`` names the arguments it writes to. Without ``device_types`` it
    serves all devices. Annotations say what the arguments are, as in PyTorch, which
    reads a ``schema`` off them; beside one that is given they are not needed.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        return CustomOpDef(name, function, mutates_args, device_types, schema, tags)

    return make if fn is None else make(fn)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """Give an op, or the one of that name, its derivative."""
    definition_of(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(
    op: Any,
    device_types: str | Iterable[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
) -> Any:
    """Give an op, or the one of that name, a function for some devices."""
    if isinstance(op, str) and op not in defined:
        return impl(op, "default" if device_types is None else device_types, func)
    return definition_of(op).register_kernel(device_types, func)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
    allow_override: bool = False,
) -> Any:
    """Tell what an op gives for tensors without values, on the meta device.

    Unlike PyTorch's, it takes names of ops that an extension would have if its compiled
    library could be loaded.
    """

    def register(func: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(op, str):
            parse_namespace(op)
        return _register_fake(op, func)

    return register if func is None else register(func)


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Any = None
) -> Any:
    """Do what :func:`register_fake` does, under its old name."""
    warnings.warn(_RENAMED, FutureWarning, stacklevel=2)
    return register_fake(qualname, func, lib=lib)


def register_vmap(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Give an op, or the one of that name, its rule for batches."""
    return definition_of(op).register_vmap(func)
