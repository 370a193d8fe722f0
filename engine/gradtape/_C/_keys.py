"""Keys of PyTorch's dispatcher, for libraries that put them together; none is read."""

from __future__ import annotations

import enum


class DispatchKey(enum.IntEnum):
    """One functionality, or one kind of device."""

    AutocastCPU = 24
    AutocastXPU = 27
    AutocastHPU = 29
    AutocastMPS = 31
    AutocastCUDA = 32
    AutocastPrivateUse1 = 33
    CPU = 49
    CUDA = 50
    MPS = 53
    XPU = 55
    Meta = 64


class DispatchKeySet:
    """Several keys.

    >>> import gradtape as torch
    >>> key, keys = torch._C.DispatchKey, torch._C.DispatchKeySet
    >>> keys(key.AutocastCPU) | keys(key.CPU)
    DispatchKeySet(CPU, AutocastCPU)
    """

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys | other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys - other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys & other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def has(self, key: DispatchKey) -> bool:
        """Tell whether a key is among them."""
        return key in self._keys

    def __repr__(self) -> str:
        devices_first = sorted(self._keys, key=lambda k: (k < DispatchKey.CPU, k))
        return f"DispatchKeySet({', '.join(key.name for key in devices_first)})"
