"""`device`: where a tensor's elements live, and the device of new tensors."""

from __future__ import annotations

import importlib.util
import re
import sys
from contextvars import ContextVar
from typing import Any, NoReturn, TypeGuard

from . import META, Shell, backend_of

__all__ = ["cpu", "default_device", "device", "device_of", "set_default_device"]

_TYPES = (
    *("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve"),
    *("fpga", "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia"),
    "privateuseone",
)
# A type, then at most one index without a sign or leading zeros.
_DEVICE_STRING = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?")
_MAX_INDEX = 2**31 - 1

_EMPTY = "Device string must not be empty"
_INVALID = "Invalid device string: '{}'"
_UNKNOWN_TYPE = (
    f"Expected one of {', '.join(_TYPES)} device type at start of device string: {{}}"
)
_INDEX_TOO_LARGE = "Could not parse device index '{}' in device string '{}'"
_INDEX_TWICE = (
    "type (string) must not include an index because index was passed explicitly: {}"
)
_NEGATIVE_INDEX = "Device index must not be negative"
_NO_ACCELERATOR = "Cannot access accelerator device when none is available."
_BAD_ARGUMENT = """\
device() received an invalid combination of arguments - got ({0}), but expected one of:
 * (torch.device device)
      didn't match because some of the arguments have invalid types: (!{0}!)
 * (str type, int index = -1)
"""


class device:
    """Name a place for tensors: a type such as "cpu" or "cuda", and maybe an index.

    Used in `with`, new tensors inside the block are made on it. Raises RuntimeError
    for a string that names no device.

    >>> device("cuda:0")
    device(type='cuda', index=0)
    >>> device("cuda", 1).index
    1
    """

    __module__ = "gradtape"

    __slots__ = ("index", "type")

    index: int | None
    type: str

    def __new__(
        cls,
        type: str | int | device | None = None,
        index: int | None = None,
        *,
        device: str | int | device | None = None,
    ) -> device:
        given = device if type is None else type
        if _is_device(given) and index is None:
            return given
        if isinstance(given, int) and not isinstance(given, bool) and index is None:
            return _make(cls, _accelerator(given), given)
        if not isinstance(given, str):
            raise TypeError(_BAD_ARGUMENT.format(_type_name(given)))
        name, parsed = _parse(given)
        if index is not None:
            parsed = _explicit_index(given, parsed, index)
        return _make(cls, name, parsed)

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(
            f"attribute '{attribute}' of 'torch.device' objects is not writable"
        )

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.index is None:
            return device, (self.type,)
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        _defaults.set((*_defaults.get(), self))
        return self

    def __exit__(self, *_exception: object) -> None:
        _defaults.set(_defaults.get()[:-1])


def _make(cls: type[device], name: str, index: int | None) -> device:
    made = object.__new__(cls)
    object.__setattr__(made, "type", name)
    object.__setattr__(made, "index", index)
    return made


def _is_device(value: object) -> TypeGuard[device]:
    return isinstance(value, device)


def _type_name(value: object) -> str:
    return type(value).__name__


def _parse(text: str) -> tuple[str, int | None]:
    """Split "cuda:1" into its type and index; raise PyTorch's sentences."""
    if not text:
        raise RuntimeError(_EMPTY)
    match = _DEVICE_STRING.fullmatch(text)
    if match is None:
        raise RuntimeError(_INVALID.format(text))
    name, digits = match.groups()
    if name not in _TYPES:
        raise RuntimeError(_UNKNOWN_TYPE.format(name))
    if digits is None:
        return name, None
    if int(digits) > _MAX_INDEX:
        raise RuntimeError(_INDEX_TOO_LARGE.format(digits, text))
    return name, int(digits)


def _explicit_index(text: str, parsed: int | None, index: object) -> int:
    if not isinstance(index, int) or isinstance(index, bool):
        raise TypeError(
            "device(): argument 'index' (position 2) must be int, "
            f"not {type(index).__name__}"
        )
    if parsed is not None:
        raise RuntimeError(_INDEX_TWICE.format(text))
    if index < 0:
        raise RuntimeError(_NEGATIVE_INDEX)
    return index


def _accelerator(index: int) -> str:
    if index < 0:
        raise RuntimeError(_NEGATIVE_INDEX)
    if "cupy" not in sys.modules and importlib.util.find_spec("cupy") is None:
        raise RuntimeError(_NO_ACCELERATOR)
    return "cuda"


cpu = device("cpu")
"""The device of NumPy's arrays."""

_meta = device("meta")


def device_of(array: Any) -> device:
    """Return where an array of any backend lies."""
    backend = backend_of(array)
    if type(array) is Shell:
        return array.device
    if backend is META:
        return _meta
    index = backend.device_index(array)
    return cpu if index is None else device("cuda", index)


_defaults: ContextVar[tuple[device, ...]] = ContextVar(
    "gradtape_default_devices", default=(cpu,)
)
"""The devices of the open `with device(...)` blocks, innermost last."""


def default_device() -> device:
    """Return the device of new tensors that name none."""
    return _defaults.get()[-1]


def set_default_device(where: device | str | None) -> None:
    """Set the device of new tensors that name none; None means the CPU."""
    _defaults.set((*_defaults.get()[:-1], cpu if where is None else device(where)))
