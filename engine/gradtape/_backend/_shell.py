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

    What the tensor's class says itself of the layout is ``asked`` for every time.
    """

    __slots__ = ("__weakref__", "_host", "asked", "where")

    def __init__(self, shape: Any, strides: Any, dtype: Any, device: Any) -> None:
        self._host = as_strided(np.empty(1, dtype), shape, strides)
        self.where = device
        self.asked: dict[str, Callable[[], Any]] = {}

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(_ELSEWHERE)

    __getitem__ = __setitem__ = __bool__ = __iter__ = refuse
    __array__ = __array_ufunc__ = __array_function__ = refuse

    @property
    def device(self) -> Any:
        asked = self.asked.get("device")
        return self.where if asked is None else asked()

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
        return Shell(shape, steps, flat.dtype, flat.device)

    def to_host(self, array: Any) -> Any:
        return array.refuse()

    def device_index(self, array: Any) -> int | None:
        return None
