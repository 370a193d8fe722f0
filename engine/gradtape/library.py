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

What else PyTorch's library module has is out of reach, see docs/out-of-reach.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ._custom_op import CustomOpDef, definition_of
from ._custom_op import register_fake as _register_fake
from ._refusals import refused_names

globals().update(refused_names("library"))


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
) -> Any:
    """Make a function of tensors an op, ``ops.<namespace>.<name>``; decorates too.

    ``mutates_args`` names the arguments it writes to. Without ``device_types`` it
    serves all devices. Annotations say what the arguments are, as in PyTorch, which
    reads a ``schema`` off them; beside one that is given they are not needed.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        return CustomOpDef(name, function, mutates_args, device_types, schema is None)

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

    Unlike PyTorch's, it waits for an op of which only the name is known: extensions
    register theirs even where their compiled ops are not loaded.
    """
    register = functools.partial(_register_fake, op)
    return register if func is None else register(func)


def register_vmap(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Give an op, or the one of that name, its rule for batches."""
    return definition_of(op).register_vmap(func)
