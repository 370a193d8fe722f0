"""`Generator`: PyTorch's CPU random number generator, state for state.

It is MT19937 with a cached normal sample. NumPy's bit generator runs the same
recurrence; this file seeds it as PyTorch does and keeps PyTorch's state layout.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._backend.device import cpu, device
from .vmap import vmaps

__all__ = ["Generator", "default_generator"]

_WORDS: Final = 624
_DEFAULT_SEED: Final = 67280421310721
# From here on NumPy's full-range integers are faster than its raw draws; both take
# one 32-bit draw each.
_BULK: Final = 512

# The record PyTorch saves, with C's padding; the state words are 32 bits in 64.
_STATE: Final = np.dtype(
    {
        "names": [
            *("seed", "left", "seeded", "next", "words", "normal_y"),
            *("normal_is_valid", "next_float", "next_float_is_valid"),
        ],
        "formats": [
            *("<u8", "<i4", "<i4", "<u8", (("<u8"), (_WORDS,)), "<f8"),
            *("<i4", "<f4", "?"),
        ],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)

_NO_OFFSET = "CPU Generator does not use offset"
_WRONG_SIZE = (
    "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size "
    "to be {}"
)


RANDOM_IN_VMAP = (
    "vmap: called random operation while in randomness error mode. Please either use "
    "the 'same' or 'different' randomness flags on vmap or perform the randomness "
    "operation out of vmap"
)


class Generator:
    """Make the stream of random numbers that PyTorch's CPU generator makes.

    `get_state` and `set_state` exchange 5056 bytes with PyTorch in both directions.

    >>> Generator().manual_seed(0).initial_seed()
    0
    """

    __module__ = "gradtape._C"

    __slots__ = (
        *("_bits", "_bulk", "_fresh", "_seed", "_seeder"),
        *("next_float", "next_normal"),
    )

    wrap_state: ClassVar[Callable[[NDArray[np.uint8]], Any]] = np.asarray
    """What `get_state` returns its bytes in; the tensor layer puts a tensor here."""

    next_float: float | None
    """PyTorch's cached float sample: never used on the CPU, kept in the state."""
    next_normal: float | None
    """The second sample of the last Box-Muller pair, not handed out yet."""

    def __init__(self, device: device | str = cpu) -> None:
        where = _as_device(device)
        if where.type != "cpu":
            raise RuntimeError(
                f"Generator() supports the device cpu only, but got {where}"
            )
        self._bits = np.random.MT19937(0)
        self._bulk = np.random.Generator(self._bits)
        # RandomState's seeding is the 1998 rule that PyTorch uses too.
        self._seeder = np.random.RandomState(self._bits)
        self._reseed(_DEFAULT_SEED)

    @property
    def device(self) -> device:
        """Where the numbers are made: the CPU."""
        return cpu

    # ---- seeds ----

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream of this seed, and return the generator.

        A negative seed counts from 2**64 down. Raises RuntimeError where `seed` is no
        int, ValueError where it does not fit in 64 bits.
        """
        if not _is_int(seed):
            raise RuntimeError(f"manual_seed expected a long, but got {_name_of(seed)}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._reseed(seed % 2**64)
        return self

    def initial_seed(self) -> int:
        """Return the seed the stream began with."""
        return self._seed

    def seed(self) -> int:
        """Restart with a seed from the operating system, and return it."""
        self._reseed(secrets.randbits(64))
        return self._seed

    def _reseed(self, seed: int) -> None:
        self._seed = seed
        self._seeder.seed(seed & 0xFFFFFFFF)  # the generator has only 32 bits of seed
        self._fresh = True
        self.next_float = None
        self.next_normal = None

    # ---- state ----

    def get_state(self) -> Any:
        """Return the state as bytes, in PyTorch's layout."""
        record = np.zeros((), _STATE)
        inner: Any = self._bits.state["state"]
        position = int(inner["pos"])
        record["seed"] = self._seed
        record["left"] = 1 if self._fresh else _WORDS + 1 - position
        record["seeded"] = 1
        record["next"] = 0 if self._fresh else position
        record["words"] = inner["key"]
        if self.next_normal is not None:
            record["normal_y"] = self.next_normal
            record["normal_is_valid"] = 1
        if self.next_float is not None:
            record["next_float"] = self.next_float
            record["next_float_is_valid"] = True
        return type(self).wrap_state(np.frombuffer(record.tobytes(), np.uint8).copy())

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state that `get_state` (ours or PyTorch's) returned.

        Raises TypeError where it is no array of bytes, RuntimeError where its size or
        content is no generator's state.
        """
        if not hasattr(new_state, "__array__"):
            raise TypeError(
                f"expected a torch.ByteTensor, but got {_name_of(new_state)}"
            )
        state = np.asarray(new_state)
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not state.flags.c_contiguous:
            raise RuntimeError("RNG state must be contiguous")
        if state.size != _STATE.itemsize:
            raise RuntimeError(_WRONG_SIZE.format(state.size))
        self._load(np.frombuffer(state.tobytes(), _STATE)[0])
        return self

    def _load(self, record: Any) -> None:
        left, position = int(record["left"]), int(record["next"])
        if not record["seeded"] or not 0 < left <= _WORDS or position > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        self._fresh = left == 1 and position == 0
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {
                "key": record["words"].astype(np.uint32),
                # One draw left means: make new words first, wherever `next` points.
                "pos": _WORDS if left == 1 else position,
            },
        }
        self._seed = int(record["seed"])
        self.next_float = (
            float(record["next_float"]) if record["next_float_is_valid"] else None
        )
        self.next_normal = (
            float(record["normal_y"]) if record["normal_is_valid"] else None
        )

    def clone_state(self) -> Generator:
        """Return another generator at the same point of the stream."""
        return type(self)().set_state(self.get_state())

    def graphsafe_get_state(self) -> Generator:
        """Return another generator at the same point of the stream."""
        return self.clone_state()

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Go on from the point where another generator is."""
        return self.set_state(state.get_state())

    def get_offset(self) -> NoReturn:
        """Raise RuntimeError: only CUDA generators have an offset."""
        raise RuntimeError(_NO_OFFSET)

    def set_offset(self, offset: int) -> NoReturn:
        """Raise RuntimeError: only CUDA generators have an offset."""
        raise RuntimeError(_NO_OFFSET)

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.initial_seed(), None, self.get_state())  # no offset: on the CPU
        return type(self), (self.device,), state

    def __setstate__(self, state: tuple[int, Any, Any]) -> None:
        seed, _, words = state
        self.manual_seed(seed)
        self.set_state(words)

    @property
    def point(self) -> Any:
        """Where the stream is; set it to go back there."""
        return self._bits.state

    @point.setter
    def point(self, point: Any) -> None:
        self._bits.state = point

    # ---- raw draws ----

    def draw32(self, count: int) -> NDArray[np.uint32]:
        """Return the next `count` 32-bit draws."""
        if not count:
            return np.empty(0, np.uint32)
        if vmaps.refusing:
            raise RuntimeError(RANDOM_IN_VMAP)
        if vmaps.starts:
            vmaps.note(self)
        self._fresh = False
        if count < _BULK:
            return self._bits.random_raw(count).astype(np.uint32)
        return self._bulk.integers(0, 2**32, count, np.uint32)

    def draw64(self, count: int) -> NDArray[np.uint64]:
        """Return `count` 64-bit draws, each of two 32-bit ones, the high one first."""
        pairs = self.draw32(2 * count)
        high = pairs[0::2].astype(np.uint64)
        high <<= np.uint64(32)
        high |= pairs[1::2]
        return high

    def uniform32(self, count: int) -> NDArray[np.float32]:
        """Return floats in [0, 1): the low 24 bits of one draw each."""
        draws = self.draw32(count)
        draws &= np.uint32(2**24 - 1)
        found = draws.view(np.int32).astype(np.float32)  # signed: a faster conversion
        found *= np.float32(2.0**-24)
        return found

    def uniform64(self, count: int) -> NDArray[np.float64]:
        """Return doubles in [0, 1): the low 53 bits of a 64-bit draw each."""
        draws = self.draw64(count)
        draws &= np.uint64(2**53 - 1)
        found = draws.view(np.int64).astype(np.float64)
        found *= 2.0**-53
        return found


def _as_device(where: device | str) -> device:
    return device(where)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name_of(value: object) -> str:
    return type(value).__name__


default_generator: Final = Generator()
"""What draws where a function is given no generator."""
default_generator.seed()
