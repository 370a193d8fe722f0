"""What a tensor has for memory whose class keeps its values elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

_ELSEWHERE = (
    "Attempted to access the data pointer on an invalid python storage: this function "
    "reads or writes memory, and a tensor of a class made by _make_wrapper_subclass "
    "has none; use functions that its __torch_dispatch__ sees"
)


class Shell(NDArrayOperatorsMixin):
    """An array of which only the layout is there: use raises, never guesses.

    What no host array knows, and what the tensor's class says itself, is ``asked`` for.
    """

    __slots__ = ("__weakref__", "_host", "asked")

    def __init__(
        self, shape: Any, strides: Any, dtype: Any, device: Any, layout: Any = None
    ) -> None:
        self._host = as_strided(np.empty(1, dtype), shape, strides)
        self.asked: dict[str, Callable[[], Any]] = {
            "device": lambda: device,
            "layout": lambda: layout,
        }

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(_ELSEWHERE)

    __getitem__ = __setitem__ = __bool__ = __iter__ = refuse
    __array__ = __array_ufunc__ = __array_function__ = refuse

    def __getattr__(self, name: str) -> Any:
        if name in self.asked:
            return self.asked[name]()
        found = getattr(self._host, name)
        return self.refuse if callable(found) else found


class ShellBackend:
    """Such arrays; new ones beside them are made as the host makes them."""

    name = "shell"
    xp: Any = np
    array_type: type = Shell

    def pointer(self, array: Any) -> int:
        return int(array._host.__array_interface__["data"][0])

    def flat(self, owner: Any) -> Any:
        return owner

    def strided(
        self,
        flat: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        steps = tuple(step * flat.itemsize for step in strides)
        return Shell(shape, steps, flat.dtype, flat.device, flat.layout)

    def to_host(self, array: Any) -> Any:
        return array.refuse()

    def device_index(self, array: Any) -> int | None:
        return None
