"""Samplers draw what PyTorch's draw, in the same order."""

from __future__ import annotations

import itertools

import pytest

from ..oracle import assert_same


def twice(t, sampler):
    """Return two rounds of a sampler, and what the default generator gives after."""
    return len(sampler), list(sampler), list(sampler), t.rand(1)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("num_samples", [None, 1, 7, 20, 64, 71])
def test_random_samplers_draw_pytorchs_order(own, replacement, num_samples):
    def program(t):
        t.manual_seed(11)
        generator = t.Generator().manual_seed(2) if own else None
        sampler = t.utils.data.RandomSampler(
            range(20), replacement, num_samples, generator
        )
        return *twice(t, sampler), generator and generator.get_state()

    assert_same(program)


def test_the_length_of_a_random_sampler_is_the_datasets_now():
    def program(t):
        data = [1, 2]
        sampler = t.utils.data.RandomSampler(data)
        data.append(3)
        return len(sampler), sampler.num_samples, sorted(sampler)

    assert_same(program)


@pytest.mark.parametrize("own", [True, False])
def test_other_samplers_draw_pytorchs_order(own):
    def program(t):
        t.manual_seed(5)
        data = t.utils.data
        generator = t.Generator().manual_seed(2) if own else None
        weights = [0.1, 0.9, 0.4, 0.7, 3.0, 0.6]
        weighted = data.WeightedRandomSampler
        return (
            twice(t, data.SubsetRandomSampler([4, 8, 15, 16, 23], generator)),
            twice(t, weighted(weights, 9, True, generator)),
            twice(t, weighted(t.tensor(weights), 5, False, generator)),
            twice(t, data.SequentialSampler("abc")),
        )

    assert_same(program)


@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize("size", [0, 5, 6])
def test_batches_of_keys(drop_last, size):
    def program(t):
        batches = t.utils.data.BatchSampler(range(size), 3, drop_last)
        endless = t.utils.data.BatchSampler(itertools.count(), 2, drop_last)
        return len(batches), list(batches), list(itertools.islice(endless, 2))

    assert_same(program)


REFUSED = {
    "replacement": ("RandomSampler", (range(3), 1)),
    "no samples": ("RandomSampler", (range(3), False, 0)),
    "half a sample": ("RandomSampler", (range(3), False, 0.5)),
    "empty": ("RandomSampler", ([],)),
    "weighted bool": ("WeightedRandomSampler", ([1.0], True)),
    "weighted none": ("WeightedRandomSampler", ([1.0], 0)),
    "weighted replacement": ("WeightedRandomSampler", ([1.0], 1, 1)),
    "weights 2d": ("WeightedRandomSampler", ([[1.0], [2.0]], 1)),
    "batch size": ("BatchSampler", ([1], 0, False)),
    "batch bool": ("BatchSampler", ([1], True, False)),
    "batch float": ("BatchSampler", ([1], 1.0, False)),
    "drop last": ("BatchSampler", ([1], 1, 0)),
    "rank too high": ("DistributedSampler", (range(3), 2, 2)),
    "rank below 0": ("DistributedSampler", (range(3), 2, -1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_options_are_refused_in_pytorchs_words(name):
    kind, given = REFUSED[name]
    assert_same(lambda t: getattr(t.utils.data, kind)(*given))


def test_a_sampler_without_order_or_length_says_so():
    assert_same(lambda t: iter(t.utils.data.Sampler()))
    assert_same(lambda t: hasattr(t.utils.data.Sampler(), "__len__"))


@pytest.mark.parametrize(
    ("size", "replicas"), [(1, 1), (3, 3), (4, 3), (10, 3), (10, 4), (11, 4), (12, 4)]
)
@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_distributed_samplers_share_out_as_pytorchs(size, replicas, drop_last, shuffle):
    def program(t):
        kind = t.utils.data.distributed.DistributedSampler
        found = []
        for rank in range(replicas):
            sampler = kind(range(size), replicas, rank, shuffle, 4, drop_last)
            first = list(sampler)
            sampler.set_epoch(3)
            found.append((len(sampler), first, list(sampler)))
        return found

    assert_same(program)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_samples_are_repeated_for_many_processes(size):
    def program(t):
        kind = t.utils.data.DistributedSampler
        return [list(kind(range(size), 7, rank, shuffle=False)) for rank in range(7)]

    assert_same(program)
