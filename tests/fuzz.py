"""Damage to valid files, the same for the same seed."""

from __future__ import annotations

import random
import re
import tracemalloc
from collections.abc import Callable, Iterator

from tests.depth import THOROUGH

ROUNDS = 1_500 if THOROUGH else 150
"""How many damaged files of each kind are read."""

_NUMBERS = (b"0", b"1", b"-1", b"7", b"8", b"255", b"65536", b"4294967295", b"1e99")


def damaged(valid: bytes, seed: int = 0) -> Iterator[bytes]:
    """Yield damaged copies of a valid file: one to three things are wrong with each."""
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        data = bytearray(valid)
        for _ in range(choose.randint(1, 3)):
            choose.choice(_KINDS)(data, choose)
        yield bytes(data)


def peak_of(call: Callable[[], object]) -> int:
    """Return how many bytes more a call needs at its height than before it."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    call()
    return tracemalloc.get_traced_memory()[1] - before


def _flip(data: bytearray, choose: random.Random) -> None:
    for _ in range(choose.randint(1, 4)):
        if data:
            data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)


def _cut(data: bytearray, choose: random.Random) -> None:
    del data[choose.randrange(len(data) + 1) :]


def _piece(data: bytearray, choose: random.Random) -> slice:
    start = choose.randrange(len(data) + 1)
    return slice(start, start + choose.choice((1, 4, 8, 64)))


def _drop(data: bytearray, choose: random.Random) -> None:
    del data[_piece(data, choose)]


def _repeat(data: bytearray, choose: random.Random) -> None:
    piece = _piece(data, choose)
    data[piece] = data[piece] * choose.choice((2, 3, 1_000))


def _swap(data: bytearray, choose: random.Random) -> None:
    one, two = _piece(data, choose), _piece(data, choose)
    data[one], data[two] = data[two], data[one]


def _fill(data: bytearray, choose: random.Random) -> None:
    piece = _piece(data, choose)
    data[piece] = choose.choice((b"\0", b"\x7f", b"\xff")) * len(data[piece])


def _renumber(data: bytearray, choose: random.Random) -> None:
    """Write another number over one that stands there in letters."""
    found = list(re.finditer(rb"\d+", data))
    if found:
        place = choose.choice(found)
        other = choose.choice((*_NUMBERS, choose.choice(found).group()))
        data[place.start() : place.end()] = other


_KINDS = (_flip, _cut, _drop, _repeat, _swap, _fill, _renumber, _renumber)
