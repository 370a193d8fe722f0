"""Element types of DLPack that NumPy lacks: bfloat16 travels as an integer of its size.

A capsule holds a C struct; https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h
says how it is laid out. Only the byte that names the kind of number is changed.
"""

from __future__ import annotations

import ctypes
from typing import Any

_UNSIGNED, _BFLOAT = 1, 4  # DLDataTypeCode
_OFFSETS = {b"dltensor": 0, b"dltensor_versioned": 32}
"""Where the DLTensor begins in what capsules of a name hold."""


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
    )


def mark_bfloat16(capsule: Any) -> Any:
    """Say that the 16-bit integers of a capsule are bfloat16; return it."""
    _tensor_of(capsule).code = _BFLOAT  # type: ignore[union-attr]
    return capsule


def unmark_bfloat16(capsule: Any) -> bool:
    """Let a capsule of bfloat16 pass for one of integers; tell whether it was one."""
    found = _tensor_of(capsule)
    if found is None or (found.code, found.bits) != (_BFLOAT, 16):
        return False
    found.code = _UNSIGNED
    return True


def _tensor_of(capsule: Any) -> _DLTensor | None:
    """Return the struct in a capsule that nobody consumed yet, else None."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    held = ctypes.py_object(capsule)
    name = api.PyCapsule_GetName(held)
    if name not in _OFFSETS:
        return None
    start = api.PyCapsule_GetPointer(held, ctypes.c_char_p(name))
    return _DLTensor.from_address(start + _OFFSETS[name])
