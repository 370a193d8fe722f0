"""The harmless part of an unpickler: a stack, a memo, numbers, text and containers."""

from __future__ import annotations

import os
import struct
import sys
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError, decode_long
from typing import Any, ClassVar, NoReturn

from ._allowed import check_key
from ._refusals import TruncatedPickleError, broken

DEPTH = 10_000
"""How deep containers may be nested; picklers stop long before."""
_FREE, _PER_BYTE = 16 << 20, 100
"""How much memory a pickle may take: so much, and so many times its own size. What
picklers write takes a tenth of it."""
ITEM = 100
"""Bytes that an item of a dictionary takes, roughly."""
LOOK = 40
"""What it costs to look at an item of an argument or key: time, counted as bytes."""
_PROTOCOL = (
    "Detected pickle protocol {} in the checkpoint, which was not the default pickle "
    "protocol used by `torch.load` (2). The weights_only Unpickler might not support "
    "all instructions implemented by this protocol, please file an issue for adding "
    "support if you encounter this."
)
_ENDS = "The file's pickle ends in the middle."

BYTE, SHORT = struct.Struct("<B"), struct.Struct("<H")
INT, UINT, DOUBLE = struct.Struct("<i"), struct.Struct("<I"), struct.Struct(">d")


class PickleMachine:
    """Carries out the operations of a pickle that make plain values and containers.

    Subclasses add those that name things and call them. It asks for no memory that the
    file could not fill, and keeps account of what it builds: a pickle can make much of
    little, by repeating what it has remembered.
    """

    operations: ClassVar[dict[bytes, Callable[[Any], None]]]

    def __init__(self, file: Any, encoding: str = "utf-8") -> None:
        self._file = file
        self._encoding = encoding
        self._memo: dict[int, Any] = {}
        self._outer: list[list[Any]] = []  # the stacks below the open marks
        self._stack: list[Any] = []
        self._room = _FREE + _PER_BYTE * self._left()

    def load(self) -> Any:
        """Return the object that the pickle describes.

        Raises pickle.UnpicklingError for operations that saved files do not have, and
        for a pickle that contradicts itself.
        """
        read, operations = self._file.read, self.operations
        try:
            while True:
                code = read(1)
                if code == b".":
                    result = self._stack.pop()
                    break
                operation = operations.get(code)
                if operation is None:
                    refuse_code(code)
                operation(self)
        except (IndexError, KeyError, struct.error, UnicodeError) as error:
            broken(f"{type(error).__name__} {error}".strip())
        _check_depth(result)
        return result

    # ---- reading ----

    def _take(self, count: int) -> bytes:
        """Return so many bytes, without asking for memory that the file cannot fill."""
        if count > 1 << 16 and count > self._left():
            raise TruncatedPickleError(_ENDS)
        found = self._file.read(count)
        if len(found) < count:
            raise TruncatedPickleError(_ENDS)
        return found

    def _left(self) -> int:
        """Return how many bytes the file still has."""
        here = self._file.tell()
        end = self._file.seek(0, os.SEEK_END) or self._file.tell()
        self._file.seek(here)
        return end - here

    def _number(self, layout: struct.Struct) -> Any:
        return layout.unpack(self._take(layout.size))[0]

    def _line(self) -> str:
        found = self._file.readline(1 << 16)
        if found[-1:] != b"\n":
            raise TruncatedPickleError(_ENDS)
        return found[:-1].decode()

    def _items(self) -> list[Any]:
        """Return what was put on the stack since the last mark, and drop the mark."""
        found = self._stack
        self._stack = self._outer.pop()
        return found

    # ---- keeping account ----

    def _charge(self, nbytes: int) -> None:
        """Note that so much memory was asked for, or work that goes with it."""
        self._room -= nbytes
        if self._room < 0:
            broken("it builds far more than its size can mean")

    def _push_new(self, value: Any) -> None:
        self._charge(sys.getsizeof(value))
        self._stack.append(value)

    # ---- containers ----

    def _append(self) -> None:
        item = self._stack.pop()
        self._list("append to").append(item)

    def _extend(self) -> None:
        items = self._items()
        self._list("extend").extend(items)

    def _list(self, verb: str) -> list[Any]:
        target = self._stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only {verb} lists, but got {type(target)}")
        return target

    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._fill("SETITEM", [key, value])

    def _set_items(self) -> None:
        self._fill("SETITEMS", self._items())

    def _fill(self, code: str, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {code} for dict, collections.OrderedDict, "
                f"collections.Counter, but got {type(target)}"
            )
        if len(items) % 2:
            broken("a dictionary has a key without a value")
        self._charge(ITEM * len(items) // 2)
        for key in items[::2]:
            self._charge(LOOK * check_key(key))
        target.update(zip(items[::2], items[1::2], strict=True))

    def _mark(self) -> None:
        if len(self._outer) > DEPTH:
            broken("containers are nested beyond all measure")
        self._outer.append(self._stack)
        self._stack = []

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            broken("a tuple has too few items")
        items = self._stack[-count:]
        del self._stack[-count:]
        self._push_new(tuple(items))

    def _tuple_since_mark(self) -> None:
        items = self._items()
        self._push_new(tuple(items))

    # ---- values ----

    def _long(self) -> None:
        self._stack.append(decode_long(self._take(self._number(BYTE))))

    def _protocol(self) -> None:
        found = self._number(BYTE)
        if found != 2:
            warnings.warn(_PROTOCOL.format(found), stacklevel=4)

    def _text(self) -> None:
        data = self._take(self._number(UINT))
        self._stack.append(str(data, "utf-8", "surrogatepass"))

    def _bytes(self) -> None:
        data = self._take(self._number(BYTE))
        as_bytes = self._encoding == "bytes"
        self._stack.append(data if as_bytes else data.decode(self._encoding))

    def _remember(self, layout: struct.Struct) -> None:
        self._memo[self._number(layout)] = self._stack[-1]

    def _recall(self, layout: struct.Struct) -> None:
        self._stack.append(self._memo[self._number(layout)])


def refuse_code(code: bytes) -> NoReturn:
    """Refuse an operation by its code; no code means that the pickle has ended."""
    if not code:
        raise TruncatedPickleError(_ENDS)
    raise UnpicklingError(f"Unsupported operand {code[0]}")


def _check_depth(result: Any) -> None:
    """Refuse what no one could copy, compare or print without running out of stack."""
    level, seen = [result], set[int]()
    for _ in range(DEPTH):
        deeper: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                deeper.extend(each.values())
            elif isinstance(each, list | tuple | set):
                deeper.extend(each)
        level = []
        for each in deeper:
            if isinstance(each, dict | list | tuple | set) and id(each) not in seen:
                seen.add(id(each))
                level.append(each)
        if not level:
            return
    broken("containers are nested beyond all measure")


# The operations of protocol 2, by the codes that ``pickletools`` explains.

Operation = Callable[[PickleMachine], None]


def _push(value: type) -> Operation:
    return lambda self: self._push_new(value())


def _push_number(layout: struct.Struct) -> Operation:
    return lambda self: self._stack.append(self._number(layout))


PickleMachine.operations = {
    b"\x80": PickleMachine._protocol,
    b"(": PickleMachine._mark,
    b")": lambda self: self._stack.append(()),
    b"]": _push(list),
    b"}": _push(dict),
    b"\x8f": _push(set),
    b"N": lambda self: self._stack.append(None),
    b"\x88": lambda self: self._stack.append(True),
    b"\x89": lambda self: self._stack.append(False),
    b"J": _push_number(INT),
    b"K": _push_number(BYTE),
    b"M": _push_number(SHORT),
    b"G": _push_number(DOUBLE),
    b"\x8a": PickleMachine._long,
    b"X": PickleMachine._text,
    b"U": PickleMachine._bytes,
    b"q": lambda self: self._remember(BYTE),
    b"r": lambda self: self._remember(UINT),
    b"h": lambda self: self._recall(BYTE),
    b"j": lambda self: self._recall(UINT),
    b"t": PickleMachine._tuple_since_mark,
    b"\x85": lambda self: self._tuple(1),
    b"\x86": lambda self: self._tuple(2),
    b"\x87": lambda self: self._tuple(3),
    b"a": PickleMachine._append,
    b"e": PickleMachine._extend,
    b"s": PickleMachine._set_item,
    b"u": PickleMachine._set_items,
}
