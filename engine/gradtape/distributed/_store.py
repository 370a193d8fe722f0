"""Stores of keys and values where processes meet, and the one within a process."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from ._errors import DistStoreError

# Values are bytes to users and text of as many characters within, so that any value
# fits into JSON.
_TEXT = "latin-1"

Data = dict[str, str]


def _set(data: Data, keys: list[str], value: str) -> None:
    data[keys[0]] = value


def _get(data: Data, keys: list[str]) -> str | None:
    return data.get(keys[0])


def _add(data: Data, keys: list[str], amount: int) -> int:
    try:
        total = int(data.get(keys[0], "0")) + amount
    except ValueError:
        raise ValueError("stoll") from None
    data[keys[0]] = str(total)
    return total


def _append(data: Data, keys: list[str], value: str) -> None:
    data[keys[0]] = data.get(keys[0], "") + value


def _compare_set(data: Data, keys: list[str], expected: str, desired: str) -> str:
    found = data.get(keys[0])
    if found is None and expected:
        return expected
    if found is None or found == expected:
        data[keys[0]] = desired
    return data[keys[0]]


def _delete(data: Data, keys: list[str]) -> bool:
    return data.pop(keys[0], None) is not None


def _check(data: Data, keys: list[str]) -> bool:
    return all(key in data for key in keys)


def _keys(data: Data, keys: list[str]) -> list[str]:
    return list(data)


ACTIONS: dict[str, Callable[..., Any]] = {
    "set": _set,
    "get": _get,
    "add": _add,
    "append": _append,
    "compare_set": _compare_set,
    "delete": _delete,
    "check": _check,
    "keys": _keys,
}
"""What can be done to the data of a store, all at once: ``(data, keys, *more)``."""


class Table:
    """Data that several threads use."""

    def __init__(self) -> None:
        self._data: Data = {}
        self._changed = threading.Condition()

    def do(self, action: str, keys: list[str], *more: Any) -> Any:
        """Carry out one of ACTIONS."""
        with self._changed:
            result = ACTIONS[action](self._data, keys, *more)
            self._changed.notify_all()
            return result

    def wait(self, keys: list[str], seconds: float) -> bool:
        """Wait until all keys are there; tell whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: _check(self._data, keys), seconds)


class Store:
    """Keys and values that the processes of a program share.

    Where a key is missing, `get` and `wait` wait for it: DistStoreError tells that it
    did not come in time.
    """

    __module__ = "torch.distributed"

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    def _do(self, action: str, keys: list[str], *more: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not store anything")

    def _wait(self, keys: list[str], seconds: float) -> bool:
        raise NotImplementedError(f"{type(self).__name__} does not store anything")

    def _late(self, keys: list[str], timeout: timedelta) -> str:
        return "Wait timeout"

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Say how long `get` and `wait` wait."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value."""
        if not isinstance(key, str) or not isinstance(value, str | bytes):
            raise TypeError(
                "set(): incompatible function arguments. The following argument types "
                "are supported:\n    1. (self: Store, arg0: str, arg1: str) -> None"
            )
        self._do("set", [key], _text(value))

    def get(self, key: str) -> bytes:
        """Return a value, waiting for it."""
        self.wait([key])
        found = self._do("get", [key])
        return b"" if found is None else found.encode(_TEXT)

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins at 0, and return the sum."""
        return self._do("add", [key], int(amount))

    def append(self, key: str, value: str | bytes) -> None:
        """Make a value longer."""
        self._do("append", [key], _text(value))

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Replace a value if it is as expected, and return what it is now."""
        given = _text(expected_value), _text(desired_value)
        return self._do("compare_set", [key], *given).encode(_TEXT)

    def delete_key(self, key: str) -> bool:
        """Forget a key; tell whether there was one."""
        return self._do("delete", [key])

    def check(self, keys: Sequence[str]) -> bool:
        """Tell, without waiting, whether all keys are there."""
        return self._do("check", list(keys))

    def list_keys(self) -> list[str]:
        """Return all keys."""
        return self._do("keys", [])

    def num_keys(self) -> int:
        """Return how many keys there are."""
        return len(self._do("keys", []))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        limit = self._timeout if timeout is None else timeout
        if not self._wait(list(keys), limit.total_seconds()):
            raise DistStoreError(self._late(list(keys), limit))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Store several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return several values, waiting for them."""
        return [self.get(key) for key in keys]

    def has_extended_api(self) -> bool:
        """Tell whether `append`, `multi_get` and `multi_set` work."""
        return True


def _text(value: str | bytes) -> str:
    return (value.encode() if isinstance(value, str) else value).decode(_TEXT)


class HashStore(Store):
    """A store that the threads of one process share.

    >>> store = HashStore()
    >>> store.set("colour", "green")
    >>> store.get("colour")
    b'green'
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _do(self, action: str, keys: list[str], *more: Any) -> Any:
        return self._table.do(action, keys, *more)

    def _wait(self, keys: list[str], seconds: float) -> bool:
        return self._table.wait(keys, seconds)


class PrefixStore(Store):
    """Another store, with something before every key.

    >>> store = HashStore()
    >>> PrefixStore("mine", store).set("colour", "green")
    >>> store.list_keys()
    ['mine/colour']
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix = prefix
        self.underlying_store = store

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    @property
    def timeout(self) -> timedelta:
        """How long the other store waits."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Say how long the other store waits."""
        self.underlying_store.set_timeout(timeout)

    # The public methods, so that stores which users write can be prefixed too.

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._key(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._key(key), value)

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        whole = self._key(key)
        return self.underlying_store.compare_set(whole, expected_value, desired_value)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key(key))

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check([self._key(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        whole = [self._key(key) for key in keys]
        if timeout is None:
            self.underlying_store.wait(whole)
        else:
            self.underlying_store.wait(whole, timeout)

    def list_keys(self) -> list[str]:
        start = self._key("")
        found = self.underlying_store.list_keys()
        return [key.removeprefix(start) for key in found if key.startswith(start)]

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def has_extended_api(self) -> bool:
        return self.underlying_store.has_extended_api()


# ---- a store in a file that processes share ----------------------------------

_PAUSE_S = 0.01


class FileStore(Store):
    """A store in a file, for processes that see the same file system.

    The file is JSON. Each use locks, reads and rewrites it, which suits the few values
    that a start needs. Remove an old file before a new start.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = str(file_name)
        self.world_size = world_size
        Path(self.path).touch()

    def _do(self, action: str, keys: list[str], *more: Any) -> Any:
        with _locked(self.path) as file:
            data = self._read(file)
            before = dict(data)
            result = ACTIONS[action](data, keys, *more)
            if data != before:
                file.seek(0)
                file.truncate()
                file.write(json.dumps(data))
            return result

    def _read(self, file: IO[str]) -> Data:
        try:
            data = json.loads(file.read() or "{}")
            if all(isinstance(value, str) for value in data.values()):
                return data
        except (ValueError, AttributeError, RecursionError):
            pass
        raise DistStoreError(f"{self.path} is not a store; remove it before a start.")

    def _wait(self, keys: list[str], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE_S)
        return True

    def has_extended_api(self) -> bool:
        """Tell that PyTorch's has none, although `append` and the like work here."""
        return False


@contextmanager
def _locked(path: str) -> Generator[IO[str]]:
    try:
        import fcntl
    except ImportError:
        raise NotImplementedError(
            "FileStore needs file locks of Unix; use init_method='tcp://…'"
        ) from None
    with open(path, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file  # closing it writes what is left, and unlocks
