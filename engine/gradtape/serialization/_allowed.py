"""What files may name and call without asking: tensors and plain containers.

Each function here stands in for the one that the file names, takes what picklers give
it, and refuses arguments that would cost memory or time out of proportion: a file of a
hundred bytes may not ask for ``bytearray(10**12)``.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from .. import _utils
from .._backend.device import device as Device
from .._dtypes import DTYPES
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from ..nn.parameter import Parameter
from ..ops.memory.memory_format import _get_layout
from ..ops.memory.storages import storage_classes
from ..ops.memory.untyped_storage import UntypedStorage
from ._names import name_in_file
from ._refusals import broken

# ---- what users add ----

_allowed: dict[Any, None] = {}  # in the order in which they were added


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files name these functions and classes, and call them.

    An item is a function or class, or a tuple of it and the full name it has in files.

    >>> import io, collections, gradtape as torch
    >>> Point = collections.namedtuple("Point", "x y")
    >>> Point.__module__ = "shapes"
    >>> torch.serialization.add_safe_globals([Point])
    >>> torch.serialization.get_safe_globals() == [Point]
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _allowed.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Any]:
    """Return what the user lets files name."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Forget everything that the user let files name."""
    _allowed.clear()


class safe_globals:
    """Let files name these functions and classes inside a ``with`` block."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        for item in self.safe_globals:
            _allowed.pop(item, None)


def users_globals() -> dict[str, Any]:
    """Return what the user lets files name, by full name in files.

    Raises ValueError or TypeError for an item that is neither function nor tuple.
    """
    found: dict[str, Any] = {}
    for item in _allowed:
        if not isinstance(item, tuple):
            found[f"{item.__module__}.{item.__qualname__}"] = item
            known = name_in_file(item)
            if known is not None:
                found[".".join(known)] = item
            continue
        if len(item) != 2:
            raise ValueError(
                "Expected tuple of length 2 (global, str of callable full path), but "
                f"got tuple of length: {len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(
                "Expected second item in tuple to be str of callable full path, but "
                f"got: {type(item[1])}"
            )
        found[item[1]] = item[0]
    return found


# ---- what files may name and call without asking: tensors and plain containers ----

_ENCODINGS = ("latin1", "latin-1", "ascii", "utf-8")
_KEY_PARTS = 10_000
"""How many parts a key of a dictionary may have; hashing visits all of them."""


def check_key(key: Any) -> int:
    """Refuse keys that take forever to hash: tuples of tuples, huge integers.

    Return how many parts the key has.
    """
    if type(key) is str:
        return 1
    waiting, seen = [key], 0
    while waiting:
        part = waiting.pop()
        seen += 1
        if seen > _KEY_PARTS:
            broken("a key of a dictionary or set is nested beyond all measure")
        if isinstance(part, int) and not -(2**63) <= part < 2**64:
            broken("a key of a dictionary or set is an integer of more than 64 bits")
        if isinstance(part, tuple):
            waiting.extend(part[: _KEY_PARTS + 1])
        elif isinstance(part, list | dict | set | bytearray):
            broken(f"a {type(part).__name__} cannot be a key of a dictionary or set")
    return seen


def _checked(items: Iterable[Any]) -> list[Any]:
    found = list(items)
    for item in found:
        check_key(item)
    return found


def _ordered_dict(pairs: Any = ()) -> OrderedDict[Any, Any]:
    if isinstance(pairs, dict):
        return OrderedDict(pairs)
    _checked([key for key, _ in pairs])
    return OrderedDict(pairs)


def _counter(counts: Any = ()) -> Counter[Any]:
    return Counter(counts if isinstance(counts, dict) else _checked(counts))


def _set(items: Any = ()) -> set[Any]:
    return set(_checked(items))


def _bytearray(*given: Any) -> bytearray:
    if not given:
        return bytearray()
    if isinstance(given[0], bytes):
        return bytearray(given[0])
    return bytearray(_encode(*given))


def _encode(text: Any, encoding: Any = "utf-8") -> bytes:
    if not isinstance(text, str) or encoding not in _ENCODINGS:
        broken(f"it encodes a {type(text).__name__} as {encoding!r}")
    return text.encode(encoding)


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    if _identity(func) not in _rebuilding():
        broken("it rebuilds a tensor with a function that rebuilds none")
    if not isinstance(new_type, type) or not issubclass(new_type, Tensor):
        broken("it rebuilds a tensor as a class that is none of tensors")
    return _utils._rebuild_from_type_v2(func, new_type, args, state)


def _rebuild_device_tensor_from_cpu_tensor(data: Any, *more: Any) -> Any:
    if not isinstance(data, Tensor) or data.numel() > data.untyped_storage().nbytes():
        broken("it moves a tensor that is larger than its storage")
    return _utils._rebuild_device_tensor_from_cpu_tensor(data, *more)


_REBUILD = (
    "_rebuild_device_tensor_from_numpy",
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_wrapper_subclass",
)


@cache
def _rebuilding() -> frozenset[int]:
    functions = (getattr(_utils, name) for name in _REBUILD)
    return frozenset(map(id, (*functions, _rebuild_device_tensor_from_cpu_tensor)))


def _identity(value: Any) -> int:
    return id(value)


@cache
def allowed_globals() -> dict[str, Any]:
    """Return what files may name by default, by full name."""
    named: dict[str, Any] = {
        "_codecs.encode": _encode,
        "builtins.bytearray": _bytearray,
        "builtins.complex": complex,
        "builtins.set": _set,
        "collections.Counter": _counter,
        "collections.OrderedDict": _ordered_dict,
        "torch.Size": Size,
        "torch.Tensor": Tensor,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
        "torch._utils._rebuild_device_tensor_from_cpu_tensor": (
            _rebuild_device_tensor_from_cpu_tensor
        ),
        "torch.device": Device,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": _get_layout,
        "torch.storage.UntypedStorage": UntypedStorage,
    }
    for name, dtype in DTYPES.items():
        named[f"torch.{name}"] = dtype
    for each in storage_classes():
        named[f"torch.{each.__name__}"] = each
        named[f"torch.cuda.{each.__name__}"] = each
    for name in _REBUILD:
        named[f"torch._utils.{name}"] = getattr(_utils, name)
    return named


@cache
def callables() -> frozenset[int]:
    """Return the identities of what files may call by default."""
    functions: list[Callable[..., Any]] = [
        *(_encode, _bytearray, complex, _set, _counter, _ordered_dict, Size, Device),
        *(_rebuild_from_type_v2, _get_layout, Parameter),
        _rebuild_device_tensor_from_cpu_tensor,
        *(getattr(_utils, name) for name in _REBUILD),
    ]
    return frozenset(id(each) for each in functions)
