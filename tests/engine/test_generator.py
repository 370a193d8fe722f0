"""Random numbers, bit for bit against PyTorch's CPU generator and kernels."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradtape import _dtypes as dt
from gradtape import _random_math as exact
from gradtape._generator import Generator
from gradtape._random_fill import (
    bernoulli_,
    cauchy_,
    exponential_,
    geometric_,
    log_normal_,
    normal_,
    uniform_,
)
from gradtape._random_integers import random_
from gradtape._random_sample import (
    dropout_mask,
    multinomial,
    rand,
    randint,
    randn,
    randperm,
)

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
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    reference = torch.empty(shape, dtype=getattr(torch, name))
    return np.empty(shape, dt.DTYPES[name].numpy), reference


def error_of(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except (RuntimeError, NotImplementedError) as error:
        return error
    return None


@pytest.fixture
def pair() -> Pair:
    made = Pair()
    made.seed(1234)
    return made


# ---- the generator ----


@pytest.mark.parametrize("seed", [0, 1, -1, 2**40 + 7, 2**64 - 1, -(2**63)])
def test_states_are_pytorchs_bytes_all_along_the_stream(pair: Pair, seed: int) -> None:
    pair.seed(seed)
    assert pair.ours.initial_seed() == pair.theirs.initial_seed()
    for count in (0, 1, 3, 620, 624, 7000):
        pair.check(pair.ours.uniform32(count), torch.rand(count, generator=pair.theirs))
        doubles = torch.rand(count, dtype=torch.float64, generator=pair.theirs)
        pair.check(pair.ours.uniform64(count), doubles)


def test_states_exchange_in_both_directions(pair: Pair) -> None:
    torch.randn(3, generator=pair.theirs)  # leaves a cached normal sample
    pair.ours.set_state(pair.theirs.get_state().numpy())
    pair.check(randn((5,), None, pair.ours), torch.randn(5, generator=pair.theirs))
    pair.ours.uniform32(100)
    randn((4,), None, pair.ours)
    pair.theirs.set_state(torch.from_numpy(pair.ours.get_state()))
    pair.check(randn((3,), None, pair.ours), torch.randn(3, generator=pair.theirs))


def test_states_of_fresh_and_used_up_blocks_exchange(pair: Pair) -> None:
    for count in (0, 623, 1):
        pair.ours.uniform32(count)
        pair.theirs.set_state(torch.from_numpy(pair.ours.get_state()))
        other = Generator().set_state(pair.theirs.get_state().numpy())
        mine = other.uniform32(10)
        np.testing.assert_array_equal(mine, torch.rand(10, generator=pair.theirs))


@pytest.mark.parametrize("seed", ["a", 1.5, None, True, 2**64, -(2**63) - 1])
def test_bad_seeds_get_pytorchs_sentence(pair: Pair, seed: object) -> None:
    with pytest.raises((RuntimeError, ValueError)) as theirs:
        pair.theirs.manual_seed(seed)
    with pytest.raises(type(theirs.value)) as ours:
        pair.ours.manual_seed(seed)  # type: ignore[arg-type]  # that is the point
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "state",
    [
        np.zeros(3),
        np.zeros(3, np.uint8),
        np.zeros(5056, np.uint8),
        np.zeros(10112, np.uint8)[::2],
    ],
    ids=["floats", "short", "zeros", "strided"],
)
def test_bad_states_get_pytorchs_sentence(pair: Pair, state: Array) -> None:
    with pytest.raises((RuntimeError, TypeError)) as theirs:
        pair.theirs.set_state(torch.from_numpy(state))
    with pytest.raises(type(theirs.value)) as ours:
        pair.ours.set_state(state)
    assert str(ours.value) == str(theirs.value)


def test_a_state_must_be_an_array(pair: Pair) -> None:
    with pytest.raises(TypeError, match=r"expected a torch\.ByteTensor, but got list"):
        pair.ours.set_state([1])


def test_seed_is_new_each_time_and_is_the_initial_seed(pair: Pair) -> None:
    first, second = pair.ours.seed(), pair.ours.seed()
    assert first != second
    assert pair.ours.initial_seed() == second


def test_copies_go_on_from_the_same_point(pair: Pair) -> None:
    randn((3,), None, pair.ours)
    copies = [
        pair.ours.clone_state(),
        copy.deepcopy(pair.ours),
        pickle.loads(pickle.dumps(pair.ours)),
        Generator().graphsafe_set_state(pair.ours.graphsafe_get_state()),
    ]
    expected = randn((4,), None, pair.ours)
    for each in copies:
        np.testing.assert_array_equal(randn((4,), None, each), expected)


def test_the_cpu_has_no_offset_and_other_devices_no_generator(pair: Pair) -> None:
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        pair.ours.get_offset()
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        pair.ours.set_offset(1)
    with pytest.raises(RuntimeError, match="but got cuda:1"):
        Generator("cuda:1")


# ---- fills ----

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


# ---- new arrays and samples ----


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
    reference = torch.multinomial(p, 50, True, generator=pair.theirs)
    pair.check(multinomial(to_numpy(p), 50, True, pair.ours), reference)


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


# ---- exact arithmetic ----


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
