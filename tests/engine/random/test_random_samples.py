"""Random arrays, permutations, samples and masks, bit for bit PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradtape import _dtypes as dt
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
from gradtape._random.sample import (
    dropout_mask,
    multinomial,
    rand,
    randint,
    randn,
    randperm,
)

from .generators import Pair, empty, needs_avx2, to_numpy, torch


@needs_avx2
def test_large_arrays_match(pair: Pair) -> None:
    count = 100_007
    g, h = pair.ours, pair.theirs
    pair.check(rand((count,), None, g), torch.rand(count, generator=h))
    pair.check(randn((count,), None, g), torch.randn(count, generator=h))
    double = torch.float64
    reference = torch.randn(count, dtype=double, generator=h)
    pair.check(randn((count,), dt.float64, g), reference)
    for name in ("float32", "float64"):
        mine, reference = empty((count,), name)
        reference.normal_(1.1, 3.3, generator=h)
        pair.check(normal_(mine, 1.1, 3.3, g), reference)
    reference = torch.randint(-7, 2**33, (count,), generator=h)
    pair.check(randint(-7, 2**33, (count,), generator=g), reference)


@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    count=st.integers(0, 70),
    mean=st.just(0.0) | st.floats(-1e6, -1e-6) | st.floats(1e-6, 1e6),
    std=st.just(0.0) | st.floats(1e-6, 1e6),
    dtype=st.sampled_from(["float32", "float64"]),
)
@needs_avx2
def test_normal_matches_for_any_seed_size_and_parameters(
    seed: int, count: int, mean: float, std: float, dtype: str
) -> None:
    both = Pair()
    both.seed(seed)
    mine, reference = empty((count,), dtype)
    reference.normal_(mean, std, generator=both.theirs)
    both.check(normal_(mine, mean, std, both.ours), reference)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32", "float16"])
def test_permutations_match(pair: Pair, dtype: str) -> None:
    for count in (0, 1, 2, 5, 100, 255):
        reference = torch.randperm(
            count, dtype=getattr(torch, dtype), generator=pair.theirs
        )
        pair.check(randperm(count, dt.DTYPES[dtype], pair.ours), reference)
    pair.check(
        randperm(20_000, generator=pair.ours),
        torch.randperm(20_000, generator=pair.theirs),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("shape", [(5,), (3, 7), (1000,), (4, 300)])
def test_samples_with_replacement_match(
    pair: Pair, dtype: str, shape: tuple[int, ...]
) -> None:
    _, p = empty(shape, dtype)
    p.uniform_(generator=pair.theirs)
    pair.ours.set_state(pair.theirs.get_state().numpy())
    for count in (50, 1):  # one sample is drawn in another way
        reference = torch.multinomial(p, count, True, generator=pair.theirs)
        pair.check(multinomial(to_numpy(p), count, True, pair.ours), reference)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (3, 7), (1000,), (4, 300)])
def test_samples_without_replacement_match(
    pair: Pair, dtype: str, shape: tuple[int, ...]
) -> None:
    _, p = empty(shape, dtype)
    p.uniform_(generator=pair.theirs)
    pair.ours.set_state(pair.theirs.get_state().numpy())
    for count in (1, 3, 5):
        reference = torch.multinomial(p, count, generator=pair.theirs)
        pair.check(multinomial(to_numpy(p), count, False, pair.ours), reference)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.73, 1.0])
def test_dropout_masks_match_and_follow_the_memory_order(dtype: str, p: float) -> None:
    ones = torch.ones(13, 7, dtype=getattr(torch, dtype))
    for transpose in (False, True):
        like = ones.t() if transpose else ones
        torch.manual_seed(3)
        reference = torch.nn.functional.dropout(like, p)
        mine = dropout_mask(like.numpy(), p, Generator().manual_seed(3))
        np.testing.assert_array_equal(mine, reference.numpy())
        assert mine.dtype == like.numpy().dtype


REFUSED: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "uniform bounds in reverse": (
        lambda: uniform_(np.empty(3, "f"), 2, 1),
        lambda: torch.empty(3).uniform_(2, 1),
    ),
    "uniform bounds too far apart": (
        lambda: uniform_(np.empty(3, "f"), -3e38, 3e38),
        lambda: torch.empty(3).uniform_(-3e38, 3e38),
    ),
    "uniform bound beyond the type": (
        lambda: uniform_(np.empty(3, "f"), 0, 1e39),
        lambda: torch.empty(3).uniform_(0, 1e39),
    ),
    "uniform integers": (
        lambda: uniform_(np.empty(3, "l")),
        lambda: torch.empty(3, dtype=torch.int64).uniform_(),
    ),
    "negative deviation": (
        lambda: normal_(np.empty(3, "f"), 0, -1),
        lambda: torch.empty(3).normal_(0, -1),
    ),
    "normal integers": (
        lambda: normal_(np.empty(3, "l")),
        lambda: torch.empty(3, dtype=torch.int64).normal_(),
    ),
    "probability above one": (
        lambda: bernoulli_(np.empty(3, "f"), 2),
        lambda: torch.empty(3).bernoulli_(2),
    ),
    "array of probabilities above one": (
        lambda: bernoulli_(np.empty(3, "f"), np.array(2.0, "f")),
        lambda: torch.empty(3).bernoulli_(torch.tensor(2.0)),
    ),
    "array of integer probabilities": (
        lambda: bernoulli_(np.empty(2, "l"), np.array([1, 0])),
        lambda: torch.bernoulli(torch.tensor([1, 0])),
    ),
    "negative rate": (
        lambda: exponential_(np.empty(3, "f"), -1),
        lambda: torch.empty(3).exponential_(-1),
    ),
    "exponential integers": (
        lambda: exponential_(np.empty(3, "l")),
        lambda: torch.empty(3, dtype=torch.int64).exponential_(),
    ),
    "geometric certainty": (
        lambda: geometric_(np.empty(3, "f"), 1),
        lambda: torch.empty(3).geometric_(1),
    ),
    "geometric bools": (
        lambda: geometric_(np.empty(3, "?"), 0.5),
        lambda: torch.empty(3, dtype=torch.bool).geometric_(0.5),
    ),
    "cauchy without width": (
        lambda: cauchy_(np.empty(3, "f"), 0, -1),
        lambda: torch.empty(3).cauchy_(0, -1),
    ),
    "cauchy integers": (
        lambda: cauchy_(np.empty(3, "l")),
        lambda: torch.empty(3, dtype=torch.int64).cauchy_(),
    ),
    "log normal without width": (
        lambda: log_normal_(np.empty(3, "f"), 0, 0),
        lambda: torch.empty(3).log_normal_(0, 0),
    ),
    "log normal integers": (
        lambda: log_normal_(np.empty(3, "l")),
        lambda: torch.empty(3, dtype=torch.int64).log_normal_(),
    ),
    "complex integers": (
        lambda: random_(np.empty(3, "F"), whole_range=True),
        lambda: torch.empty(3, dtype=torch.complex64).random_(),
    ),
    "negative length": (lambda: rand((2, -1)), lambda: torch.rand(2, -1)),
    "negative permutation": (lambda: randperm(-1), lambda: torch.randperm(-1)),
    "permutation beyond uint8": (
        lambda: randperm(300, dt.uint8),
        lambda: torch.randperm(300, dtype=torch.uint8),
    ),
    "permutation beyond half": (
        lambda: randperm(3000, dt.float16),
        lambda: torch.randperm(3000, dtype=torch.half),
    ),
    "permutation of bools": (
        lambda: randperm(3, dt.bool_),
        lambda: torch.randperm(3, dtype=torch.bool),
    ),
    "negative weight": (
        lambda: multinomial(np.array([1.0, -1]), 1),
        lambda: torch.multinomial(torch.tensor([1.0, -1]), 1),
    ),
    "infinite weight": (
        lambda: multinomial(np.array([1.0, np.inf]), 1, True),
        lambda: torch.multinomial(torch.tensor([1.0, torch.inf]), 1, True),
    ),
    "weights of zero": (
        lambda: multinomial(np.array([0.0, 0]), 1),
        lambda: torch.multinomial(torch.tensor([0.0, 0]), 1),
    ),
    "too many samples": (
        lambda: multinomial(np.array([1.0, 2]), 3),
        lambda: torch.multinomial(torch.tensor([1.0, 2]), 3),
    ),
    "no samples": (
        lambda: multinomial(np.array([1.0, 2]), 0),
        lambda: torch.multinomial(torch.tensor([1.0, 2]), 0),
    ),
    "integer weights": (
        lambda: multinomial(np.array([1, 2]), 1),
        lambda: torch.multinomial(torch.tensor([1, 2]), 1),
    ),
    "too many axes": (
        lambda: multinomial(np.ones((1, 1, 1)), 1),
        lambda: torch.multinomial(torch.ones(1, 1, 1), 1),
    ),
    "dropout of more than all": (
        lambda: dropout_mask(np.ones(3), 2.0),
        lambda: torch.nn.functional.dropout(torch.ones(3), 2.0),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_with_pytorchs_sentence(case: str) -> None:
    ours, theirs = REFUSED[case]
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)) as expected:
        theirs()
    with pytest.raises(type(expected.value)) as raised:
        ours()
    assert str(raised.value) == str(expected.value)
