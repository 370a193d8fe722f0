"""Our random generator beside PyTorch's: helpers for the tests of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from gradtape import _dtypes as dt
from gradtape._random.generator import Generator

torch = pytest.importorskip("torch")

Array = np.ndarray[Any, np.dtype[Any]]


needs_avx2 = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="PyTorch's float kernel of 16 lanes needs AVX2",
)

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
ALL = ("bool", *INTEGERS, *FLOATS)
SHAPES = ((), (1,), (3,), (15,), (16,), (17,), (7, 9), (0,), (33, 5))


@dataclass
class Pair:
    """Our generator and PyTorch's, started from one seed."""

    ours: Generator = field(default_factory=Generator)
    theirs: Any = field(default_factory=torch.Generator)

    def seed(self, seed: int) -> None:
        self.ours.manual_seed(seed)
        self.theirs.manual_seed(seed)

    def check(self, mine: Array, reference: Any) -> None:
        """Compare bytes, and the state both generators are left in."""
        expected = to_numpy(reference)
        assert mine.dtype == expected.dtype
        assert mine.shape == expected.shape
        assert mine.tobytes() == expected.tobytes(), (mine, expected)
        state = self.theirs.get_state().numpy()
        np.testing.assert_array_equal(self.ours.get_state(), state)


def to_numpy(tensor: Any) -> Array:
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(dt.bfloat16.numpy)
    return tensor.numpy()


def empty(shape: tuple[int, ...], name: str) -> tuple[Array, Any]:
    reference = torch.empty(shape, dtype=getattr(torch, name))
    return np.empty(shape, dt.DTYPES[name].numpy), reference


def error_of(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except (RuntimeError, NotImplementedError) as error:
        return error
    return None
