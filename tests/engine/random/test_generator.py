"""The generator: PyTorch's stream, states, seeds and errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from gradtape._random.generator import Generator
from gradtape._random.sample import randn

from .generators import Array, Pair, torch


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
    pair.theirs.set_state(torch.from_numpy(np.asarray(pair.ours.get_state())))
    pair.check(randn((3,), None, pair.ours), torch.randn(3, generator=pair.theirs))


def test_states_of_fresh_and_used_up_blocks_exchange(pair: Pair) -> None:
    for count in (0, 623, 1):
        pair.ours.uniform32(count)
        pair.theirs.set_state(torch.from_numpy(np.asarray(pair.ours.get_state())))
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
