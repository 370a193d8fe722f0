"""An unpickler that runs nothing but what is on the list of the allowed.

It reads the operations that picklers of protocol 2 write, and looks names up in the
list alone: it imports no module and sets no attribute of anything else.
"""

from __future__ import annotations

import io
import os
import sys
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, ClassVar, NamedTuple

from .._tensor.tensor import Tensor
from ..nn.parameter import Parameter
from ..utils.serialization import config
from ._allowed import allowed_globals, callables, users_globals
from ._location import MAP_LOCATION, Restore, restorer
from ._names import find, torch_name
from ._pickle_machine import BYTE, ITEM, LOOK, UINT, PickleMachine, refuse_code
from ._refusals import broken
from ._zip_reader import ZipReader, is_zip

_NEVER = ("sys", "os", "posix", "nt")
"""Modules whose contents nobody can put on the list."""

_TENSOR, _STORAGE = 600, 300
"""Bytes that these take as objects, without what they hold."""
_COPIES = 4
"""How often a storage may be copied: into another dtype, or for a bit of a tensor."""

_WEIGHED = (Tensor, str, bytes, bytearray, tuple, list, dict, set)


class SafeUnpickler(PickleMachine):
    """Reads one pickle from a file; ``persistent_load`` turns ids into storages.

    Raises pickle.UnpicklingError for what is not allowed or contradicts itself.
    """

    def __init__(
        self,
        file: Any,
        persistent_load: Callable[[Any], Any] | None = None,
        encoding: str = "utf-8",
    ) -> None:
        super().__init__(file, encoding)
        self._persistent_load = persistent_load
        self._users = users_globals()
        self._trusted = {id(each) for each in self._users.values()}
        self._owners: set[int] = set()  # arrays that are accounted for, by identity

    def _global(self) -> None:
        module, name = name_of_global(self._line(), self._line())
        full = f"{module}.{name}"
        if module in _NEVER:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {full} whose module {module} is "
                "blocked."
            )
        for table in (allowed_globals(), self._users):
            if full in table:
                self._stack.append(table[full])
                return
        shown = full.removeprefix("builtins.")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{shown}])` or the "
            f"`torch.serialization.safe_globals([{shown}])` context manager to "
            "allowlist this global if you trust this class/function."
        )

    def _reduce(self) -> None:
        arguments, function = self._stack.pop(), self._stack[-1]
        if id(function) not in callables() and id(function) not in self._trusted:
            raise UnpicklingError(
                f"Trying to call reduce for unrecognized function {function!r:.200}"
            )
        self._stack[-1] = self._called(function, arguments)

    def _new_object(self) -> None:
        arguments, cls = self._stack.pop(), self._stack.pop()
        if cls is Parameter:
            self._stack.append(self._called(Parameter, arguments))
        elif id(cls) in self._trusted and isinstance(cls, type):
            self._stack.append(self._called(cls.__new__, (cls, *arguments)))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted "
                f"via `add_safe_globals` but got {cls!r:.200}"
            )

    def _called(self, function: Any, arguments: Any) -> Any:
        """Call what is allowed; it costs what it is given, and what it makes of it."""
        self._weigh(arguments)
        found = _called(function, arguments)
        self._charge(sys.getsizeof(found))
        if isinstance(found, Tensor):
            self._charge(_TENSOR)
            owner = found._storage.owner
            if id(owner) not in self._owners:  # a copy, of another dtype or negated
                self._owners.add(id(owner))
                self._charge(_nbytes(found))
        return found

    def _weigh(self, arguments: Any) -> None:
        """Charge for all that a function may look at among its arguments.

        Lists and dictionaries are looked at as they are, tuples with what is in them.
        """
        waiting = [(arguments, 0)]
        while waiting:
            value, level = waiting.pop()
            if isinstance(value, Tensor):
                self._charge(min(value.numel(), _nbytes(value)))
            elif isinstance(value, str | bytes | bytearray):
                self._charge(len(value))
            elif isinstance(value, tuple | list | dict | set):
                self._charge(LOOK * len(value))
                if isinstance(value, tuple) or (level < 2 and isinstance(value, list)):
                    inner = (each for each in value if isinstance(each, _WEIGHED))
                    waiting.extend((each, level + 1) for each in inner)

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        for each in state if isinstance(state, tuple) else (state,):
            self._charge(ITEM * len(each) if isinstance(each, dict) else 0)
        if type(target) is OrderedDict and isinstance(state, dict):
            target.__dict__.update(state)
        elif id(type(target)) in self._trusted:
            _restore(target, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted "
                f"via `add_safe_globals`, but got {type(target)}"
            )

    def _persistent(self) -> None:
        given = self._stack.pop()
        if type(given) is not tuple and type(given) is not int:
            raise UnpicklingError(
                f"persistent_load id must be tuple or int, but got {type(given)}"
            )
        if type(given) is tuple and given[:1] not in (("storage",), (b"storage",)):
            raise UnpicklingError(
                "Only persistent_load of storage is allowed, but got "
                f"{type(given[0] if given else None)}"
            )
        if self._persistent_load is None:
            raise UnpicklingError("unsupported persistent id encountered")
        storage = self._persistent_load(given)
        owner = storage.untyped()._storage.owner
        if id(owner) not in self._owners:
            self._owners.add(id(owner))
            self._room += _COPIES * owner.nbytes
        self._charge(_STORAGE)
        self._stack.append(storage)

    operations: ClassVar[Any] = {
        **PickleMachine.operations,
        b"c": _global,
        b"R": _reduce,
        b"\x81": _new_object,
        b"b": _build,
        b"Q": _persistent,
    }


def _nbytes(tensor: Tensor) -> int:
    """Return how much memory a tensor looks into."""
    return 0 if tensor.is_meta else int(tensor._storage.owner.nbytes)


def _called(function: Any, arguments: Any) -> Any:
    """Call what is allowed; arguments that do not fit say that the file is broken."""
    if not isinstance(arguments, tuple):
        broken("it calls a function without arguments")
    try:
        return function(*arguments)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        broken(f"{getattr(function, '__name__', function)} refuses it: {error}")


def _restore(target: Any, state: Any) -> None:
    """Give an object of an allowed class its state, as the standard unpickler does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def name_of_global(module: str, name: str) -> tuple[str, str]:
    """Return PyTorch's and Python 3's module and name for what a file names."""
    if (module, name) in NAME_MAPPING:
        module, name = NAME_MAPPING[(module, name)]
    module = IMPORT_MAPPING.get(module, module)
    return torch_name(module, name) or (module, name)


def globals_named(content: bytes) -> set[str]:
    """Return the full names of all globals in a pickle, without calling any.

    Raises pickle.UnpicklingError for operations that saved files do not have.
    """
    reader = _Names(io.BytesIO(content))
    reader.load()
    return reader.found


class _Names(SafeUnpickler):
    """Goes through a pickle for the names in it, and makes nothing of the rest."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, encoding="bytes")
        self.found: set[str] = set()

    def load(self) -> None:
        counted = {b"X": UINT, b"U": BYTE, b"\x8a": BYTE}
        while (code := self._file.read(1)) != b".":
            if code == b"c":
                self.found.add(".".join(name_of_global(self._line(), self._line())))
            elif code in counted:
                self._take(self._number(counted[code]))
            elif code in self.operations:
                self._take(_SIZES.get(code[0], 0))
            else:
                refuse_code(code)


_SIZES = dict(zip(b"\x80JKMGqrhj", (1, 4, 1, 2, 8, 1, 4, 1, 4), strict=True))
"""How many bytes follow the code of an operation."""


# ---- how one file is read: which unpickler, and where its storages go --------


class Reading(NamedTuple):
    """What the caller of ``load`` asked for."""

    map_location: MAP_LOCATION
    module: Any
    """The pickle module, or None for the safe unpickler."""
    options: dict[str, Any]

    @property
    def restore(self) -> Restore:
        """The function that brings storages to their place."""
        return restorer(self.map_location)

    def load(self, file: Any, persistent_load: Callable[[Any], Any] | None) -> Any:
        """Return the object of the pickle that begins where the file stands.

        Raises what the unpickler does.
        """
        if self.module is None:
            encoding = self.options["encoding"]
            return SafeUnpickler(file, persistent_load, encoding).load()
        unpickler = _naming(self.module)(file, **self.options)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        return unpickler.load()

    def loads(self, content: bytes, persistent_load: Callable[[Any], Any]) -> Any:
        """Return the object of a pickle in memory."""
        return self.load(io.BytesIO(content), persistent_load)


def _naming(pickle_module: Any) -> Any:
    """Return a subclass of the module's unpickler that finds our things by any name."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] == "torch":
                return find(module, name)
            return super().find_class(module, name)

    return Unpickler


# ---- look into a file for what ``weights_only=True`` would refuse ------------


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the full names in a file that are not on the list of the allowed.

    Nothing in the file is called. Raises ValueError for what ``save`` did not write.

    >>> import fractions, gradtape as torch
    >>> torch.save(fractions.Fraction(1, 3), "third.pt")
    >>> torch.serialization.get_unsafe_globals_in_checkpoint("third.pt")
    ['fractions.Fraction']
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    if not is_zip(f):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    archive = ZipReader(f, config.save.compute_crc32)
    if "constants.pkl" in archive:
        raise ValueError(
            "Expected input to be a checkpoint returned by torch.save but got a "
            "torchscript checkpoint"
        )
    named = globals_named(archive.read("data.pkl"))
    return list(named - allowed_globals().keys() - users_globals().keys())
