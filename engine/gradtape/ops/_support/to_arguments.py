"""Reading the arguments of ``to``, whose three forms tensors and modules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..._backend.device import device as Device
from ..._common.type_name import type_name
from ..._dtypes import dtype as DType
from ..._dtypes import parse_dtype
from ..._tensor.tensor import Tensor
from ..memory.memory_format import memory_format

_FORMS: Final = """\
to() received an invalid combination of arguments - got ({}), but expected one of:
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, \
bool copy = False, *, torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
"""
_PYTHON_TYPES: Final = (bool, int, float, complex)
_NO_COPY: Final = ".to() does not accept copy argument"


class Target(NamedTuple):
    """What ``to`` was asked for; None leaves things as they are."""

    device: Device | None
    dtype: DType | None
    non_blocking: bool
    copy: bool
    memory_format: Any


def _is_device(value: Any) -> bool:
    is_index = isinstance(value, int) and not isinstance(value, bool)
    return value is None or is_index or isinstance(value, str | Device)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, DType) or any(value is t for t in _PYTHON_TYPES)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "device": _is_device,
    "dtype": lambda value: value is None or _is_dtype(value),
    "kind": _is_dtype,
    "tensor": lambda value: isinstance(value, Tensor),
    "non_blocking": lambda value: isinstance(value, bool),
    "copy": lambda value: isinstance(value, bool),
    "memory_format": lambda value: value is None or isinstance(value, memory_format),
}
_OPTIONS = ("non_blocking", "copy")
_ORDERS = (("device", "dtype", *_OPTIONS), ("dtype", *_OPTIONS), ("tensor", *_OPTIONS))


def read_to(given: tuple[Any, ...], named: dict[str, Any]) -> Target:
    """Return what the arguments of ``to`` ask for.

    Raises TypeError, in PyTorch's words, where they fit none of its forms.
    """
    if len(given) > 4:
        raise TypeError(
            f"to() takes from 0 to 4 positional arguments but {len(given)} were given"
        )
    for order in _ORDERS:
        found = _bound(order, given, named)
        if found is not None:
            return _target(found)
    raise TypeError(_FORMS.format(_types(given, named)))


def read_module_to(given: tuple[Any, ...], named: dict[str, Any]) -> Target:
    """Return what ``Module.to`` was asked for; it refuses ``copy``."""
    target = read_to(given, named)
    if target.copy:
        raise RuntimeError(_NO_COPY)
    return target


def _bound(
    order: tuple[str, ...], given: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any] | None:
    if len(given) > len(order):
        return None
    found = dict(zip(order, given, strict=False))
    if any(name in found for name in named):
        return None
    found.update(named)
    allowed = {*order, "memory_format"}
    fits = all(name in allowed and _CHECKS[name](v) for name, v in found.items())
    if order[0] == "device":
        return found if fits else None
    first = _CHECKS["kind" if order[0] == "dtype" else "tensor"]
    return found if fits and first(found.get(order[0])) else None


def _target(found: dict[str, Any]) -> Target:
    where, kind = found.get("device"), found.get("dtype")
    model: Tensor | None = found.get("tensor")
    if model is not None:
        where, kind = model.device, model.dtype
    return Target(
        None if where is None else Device(where),
        None if kind is None else parse_dtype(kind, "to"),
        found.get("non_blocking", False),
        found.get("copy", False),
        found.get("memory_format"),
    )


def _types(given: tuple[Any, ...], named: dict[str, Any]) -> str:
    parts = [_type_name(value) for value in given]
    parts += [f"{name}={_type_name(value)}" for name, value in named.items()]
    return ", ".join(parts) + (", " if named and not given else "")


def _type_name(value: Any) -> str:
    if isinstance(value, DType | Device | memory_format):
        return f"torch.{type(value).__name__}"
    return type_name(value)
