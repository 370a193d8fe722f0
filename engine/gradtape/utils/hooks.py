"""``utils.hooks``: handles of hooks, and hooks that cannot be saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._common.handles import RemovableHandle as RemovableHandle
from .._tensor.hooks import warn_if_has_hooks as warn_if_has_hooks
from ..nn.modules._base.backward_hooks import BackwardHook as BackwardHook

F = TypeVar("F", bound=Callable[..., Any])


def unserializable_hook(f: F) -> F:
    """Mark a hook as one that is meant to stay behind when its tensor is saved.

    >>> import gradtape as torch
    >>> hook = torch.utils.hooks.unserializable_hook(lambda grad: None)
    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_hook(hook)
    >>> torch.utils.hooks.warn_if_has_hooks(x)
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
