"""The arithmetic behind normal numbers, for every value a float can take."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradtape._random import rounding as exact

from .generators import Array, needs_avx2, torch


def _untemper(outputs: np.ndarray[Any, np.dtype[np.uint32]]) -> Array:
    """Return the state words from which MT19937 makes these outputs."""
    words = outputs ^ (outputs >> np.uint32(18))
    words ^= (words << np.uint32(15)) & np.uint32(0xEFC60000)
    found = words
    for _ in range(5):
        found = words ^ ((found << np.uint32(7)) & np.uint32(0x9D2C5680))
    words = found
    for _ in range(3):
        found = words ^ (found >> np.uint32(11))
    return found


@needs_avx2
def test_float_normals_match_for_every_radius_and_every_angle() -> None:
    """Feed PyTorch's kernel all 2**24 uniform floats, through states made for it."""
    lanes, per_state = 2**24, 304  # 38 blocks of 8 pairs: less than one state's words
    radii = np.arange(lanes + -lanes % per_state, dtype=np.uint32) % lanes
    angles = (radii.astype(np.uint64) * 10_368_889 % lanes).astype(np.uint32)
    generator = torch.Generator()
    state = generator.get_state()
    state.numpy()[8:12].view(np.int32)[0] = 624
    target = state.numpy()[24 : 24 + 8 * 608].view(np.uint64)
    reference = torch.empty(608)
    for start in range(0, radii.size, 512 * per_state):
        part = slice(start, start + 512 * per_state)
        draws = np.stack([radii[part].reshape(-1, 8), angles[part].reshape(-1, 8)], 1)
        words = _untemper(draws.reshape(-1, 608))
        expected = np.empty(words.shape, np.float32)
        for i, row in enumerate(words):
            target[:] = row
            generator.set_state(state)
            expected[i] = reference.normal_(generator=generator).numpy()
        uniform = draws.astype(np.float32) * np.float32(2**-24)
        mine = np.stack(exact.box_muller32(uniform[:, 0], uniform[:, 1]), 1)
        mine += np.float32(0.0)
        assert mine.tobytes() == expected.tobytes(), part


finite = st.floats(-1e100, 1e100, allow_subnormal=False).filter(
    lambda x: x == 0 or abs(x) > 1e-100
)


@given(a=finite, b=finite, c=finite)
def test_fused_multiply_add_rounds_once(a: float, b: float, c: float) -> None:
    expected = float(Fraction(a) * Fraction(b) + Fraction(c))
    assert exact.fma64(np.array([a]), b, c)[0] == expected
