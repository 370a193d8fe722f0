"""Computing on the program's tensors such that nothing of the program notices."""

from __future__ import annotations

import functools
import sys
from typing import Any

from gradviz._capture.training_loop.patches import Anything


class Isolated:
    """No graph grows, no mode and no class of tensors is asked, inside a ``with``."""

    __slots__ = ("_dispatch", "_function", "_grad", "_library")

    def __init__(self, torch: Any) -> None:
        self._library = torch._C

    def __enter__(self) -> None:
        library = self._library
        self._function = library.DisableTorchFunction()
        self._function.__enter__()
        self._grad = library.is_grad_enabled()
        library._set_grad_enabled(False)
        self._dispatch: Any = None
        if library._len_torch_dispatch_stack():  # most programs have none
            self._dispatch = library._DisableTorchDispatch()
            self._dispatch.__enter__()

    def __exit__(self, *error: object) -> None:
        if self._dispatch is not None:
            self._dispatch.__exit__(*error)
        self._library._set_grad_enabled(self._grad)
        self._function.__exit__(*error)


def is_opaque(torch: Any, tensor: Any) -> bool:
    """Tell whether only a tensor's class or transform knows what it holds.

    Such a tensor may have no memory at all, and who asks it for its values runs code of
    the user's.
    """
    asked = type(tensor).__torch_dispatch__
    if asked is not torch._C._disabled_torch_dispatch_impl or tensor.is_meta:
        return True
    try:
        # A view of no memory begins at its offset from address 0.
        before = tensor.storage_offset() * tensor.element_size()
        return tensor.data_ptr() <= before and tensor.numel() > 0
    except RuntimeError:
        return True


def unheard(function: Anything) -> Anything:
    """Let a function of ours ask the graph: what nodes saved is detached for that."""

    @functools.wraps(function)
    def isolated(*args: Any) -> Any:
        with sys.modules["torch"]._C._DisableTorchDispatch():
            return function(*args)

    return isolated
