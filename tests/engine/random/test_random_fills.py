"""In-place fills with random numbers, bit for bit PyTorch's."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradtape._random.continuous import (
    bernoulli_,
    cauchy_,
    exponential_,
    geometric_,
    log_normal_,
    normal_,
    uniform_,
)
from gradtape._random.generator import Generator
from gradtape._random.integers import random_

from .generators import (
    ALL,
    FLOATS,
    INTEGERS,
    SHAPES,
    Array,
    Pair,
    empty,
    error_of,
    needs_avx2,
    to_numpy,
    torch,
)

Fill = Callable[[Array, Generator], Array]
Reference = Callable[[Any, Any], Any]

CONTINUOUS: dict[str, tuple[Fill, Reference]] = {
    "uniform": (
        lambda out, g: uniform_(out, -2.3, 5.7, g),
        lambda out, g: out.uniform_(-2.3, 5.7, generator=g),
    ),
    "standard uniform": (
        lambda out, g: uniform_(out, generator=g),
        lambda out, g: out.uniform_(generator=g),
    ),
    "normal": (
        lambda out, g: normal_(out, 1.3, 0.7, g),
        lambda out, g: out.normal_(1.3, 0.7, generator=g),
    ),
    "standard normal": (
        lambda out, g: normal_(out, generator=g),
        lambda out, g: out.normal_(generator=g),
    ),
    "cauchy": (
        lambda out, g: cauchy_(out, 2.5, 0.3, g),
        lambda out, g: out.cauchy_(2.5, 0.3, generator=g),
    ),
    "log normal": (
        lambda out, g: log_normal_(out, 0.5, 0.3, g),
        lambda out, g: out.log_normal_(0.5, 0.3, generator=g),
    ),
}


@needs_avx2
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CONTINUOUS)
def test_continuous_fills_match(pair: Pair, case: str, dtype: str) -> None:
    ours, theirs = CONTINUOUS[case]
    for shape in SHAPES:
        for _ in range(2):
            mine, reference = empty(shape, dtype)
            pair.check(ours(mine, pair.ours), theirs(reference, pair.theirs))


@needs_avx2
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("case", ["uniform", "normal", "standard normal"])
def test_complex_fills_match(pair: Pair, case: str, dtype: str) -> None:
    ours, theirs = CONTINUOUS[case]
    for shape in SHAPES:
        mine, reference = empty(shape, dtype)
        pair.check(ours(mine, pair.ours), theirs(reference, pair.theirs))


@pytest.mark.parametrize("dtype", FLOATS)
def test_exponential_fills_match(pair: Pair, dtype: str) -> None:
    for shape in SHAPES:
        mine, reference = empty(shape, dtype)
        reference.exponential_(2.5, generator=pair.theirs)
        pair.check(exponential_(mine, 2.5, pair.ours), reference)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_geometric_fills_match(pair: Pair, dtype: str) -> None:
    for shape in SHAPES:
        mine, reference = empty(shape, dtype)
        reference.geometric_(0.3, generator=pair.theirs)
        pair.check(geometric_(mine, 0.3, pair.ours), reference)


@pytest.mark.parametrize("dtype", ALL)
def test_bernoulli_fills_match(pair: Pair, dtype: str) -> None:
    for shape, p in itertools.product(SHAPES, (0, 0.3, 1)):
        mine, reference = empty(shape, dtype)
        reference.bernoulli_(p, generator=pair.theirs)
        pair.check(bernoulli_(mine, p, pair.ours), reference)


@pytest.mark.parametrize("probabilities", FLOATS)
@pytest.mark.parametrize("dtype", ALL)
def test_bernoulli_fills_by_arrays_match(
    pair: Pair, dtype: str, probabilities: str
) -> None:
    for shape in SHAPES:
        mine, reference = empty(shape, dtype)
        _, p = empty(shape, probabilities)
        p.uniform_()
        reference.bernoulli_(p, generator=pair.theirs)
        pair.check(bernoulli_(mine, to_numpy(p), pair.ours), reference)


@pytest.mark.parametrize("dtype", ALL)
def test_unbounded_integers_match(pair: Pair, dtype: str) -> None:
    for shape in SHAPES:
        mine, reference = empty(shape, dtype)
        reference.random_(generator=pair.theirs)
        pair.check(random_(mine, generator=pair.ours, whole_range=True), reference)


BOUNDS: tuple[tuple[int, int | None], ...] = (
    *((0, 2), (-5, 100), (3, 2**20), (0, 2**28 - 1), (0, 2**28), (0, 2**31)),
    *((0, 2**32), (-(2**40), 2**40), (-(2**63), 2**63 - 1), (2**30 + 1, 2**31 + 3)),
    *((0, None), (5, None), (-100, None), (-(2**63), None), (2**24, None)),
    *((0, 65504), (0, 70000), (-3000, 9000), (5, 5), (-1, 30), (0, 300)),
)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("dtype", [*ALL, "uint16", "uint32", "uint64"])
def test_bounded_integers_match_in_values_sentences_and_warnings(
    pair: Pair, dtype: str, bounds: tuple[int, int | None]
) -> None:
    mine, reference = empty((7, 3), dtype)
    with warnings.catch_warnings(record=True) as theirs_warned:
        warnings.simplefilter("always")
        refused = error_of(lambda: reference.random_(*bounds, generator=pair.theirs))
    if refused is not None:
        with pytest.raises(type(refused)) as raised:
            random_(mine, *bounds, pair.ours)
        assert str(raised.value) == str(refused)
        return
    with warnings.catch_warnings(record=True) as ours_warned:
        warnings.simplefilter("always")
        random_(mine, *bounds, pair.ours)
    pair.check(mine, reference)
    # PyTorch says each sentence once a process, so its list may be the shorter one.
    ours_said = {str(warning.message) for warning in ours_warned}
    for warning in theirs_warned:
        sentence = str(warning.message).split(" (Triggered internally")[0]
        assert sentence in ours_said


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.permute(2, 1, 0),
    "half transposed": lambda x: x.permute(1, 0, 2),
    "every other": lambda x: x[::2],
    "every other inside": lambda x: x[..., ::2],
    "a part": lambda x: x[1:, 2:5, 1:3],
    "a part, transposed": lambda x: x[1:, 2:5, 1:3].permute(2, 0, 1),
    "one inside": lambda x: x[:, :1].permute(2, 1, 0),
}


@needs_avx2
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CONTINUOUS)
def test_strided_targets_take_numbers_in_memory_order(
    pair: Pair, case: str, layout: str
) -> None:
    ours, theirs = CONTINUOUS[case]
    for dtype in ("float32", "float64"):
        base = torch.zeros(4, 6, 5, dtype=getattr(torch, dtype))
        mine = base.numpy().copy()
        view = LAYOUTS[layout](base)
        ours(
            np.lib.stride_tricks.as_strided(
                mine.reshape(-1)[view.storage_offset() :],
                view.shape,
                [step * mine.itemsize for step in view.stride()],
            ),
            pair.ours,
        )
        theirs(view, pair.theirs)
        pair.check(mine, base)
