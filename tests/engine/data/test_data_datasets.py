"""Datasets, and datasets made of others, beside PyTorch's."""

from __future__ import annotations

import pytest

from ..oracle import assert_same


class Batched(list):
    """A dataset that is asked for many samples at once, and loses some if told to."""

    lost = 0

    def __getitems__(self, indices):
        return [("together", self[i]) for i in indices[self.lost :]]


def streams(t):
    class Stream(t.utils.data.IterableDataset):
        def __init__(self, *items):
            self.items = items

        def __iter__(self):
            return iter(self.items)

        def __len__(self):
            return len(self.items)

    return Stream(1, 2), Stream(3)


def refuse_unequal_tensors(t):
    return t.utils.data.TensorDataset(t.zeros(2), t.zeros(3))


def ask_the_base(t):
    return t.utils.data.Dataset()[0]


def stack_both_ways(t):
    return t.utils.data.StackDataset([1], x=[1])


def stack_nothing(t):
    return t.utils.data.StackDataset()


def stack_unequal(t):
    return t.utils.data.StackDataset([1], [1, 2])


def stack_unequal_by_name(t):
    return t.utils.data.StackDataset(x=[1], y=[1, 2])


def stack_that_loses(t):
    few = Batched([1, 2])
    few.lost = 1
    return t.utils.data.StackDataset(few).__getitems__([0, 1])


def concat_nothing(t):
    return t.utils.data.ConcatDataset([])


def concat_streams(t):
    return t.utils.data.ConcatDataset(streams(t))


def index_below_all(t):
    return t.utils.data.ConcatDataset([[1], [2]])[-3]


def index_above_all(t):
    return t.utils.data.ConcatDataset([[1], [2]])[2]


def chain_lists(t):
    return list(t.utils.data.ChainDataset([[1]]))


def length_of_chained_lists(t):
    return len(t.utils.data.ChainDataset([[1]]))


def subset_with_one_method(t):
    class Mine(t.utils.data.Subset):
        def __getitem__(self, idx):
            return idx

    return Mine([1, 2], [0])


def split_with_negative_fraction(t):
    return t.utils.data.random_split(range(4), [1.5, -0.5])


def split_too_few(t):
    return t.utils.data.random_split(range(4), [1, 2])


@pytest.mark.parametrize(
    "program",
    [
        *(refuse_unequal_tensors, ask_the_base, stack_both_ways, stack_nothing),
        *(stack_unequal, stack_unequal_by_name, stack_that_loses, concat_nothing),
        *(concat_streams, index_below_all, index_above_all, chain_lists),
        *(length_of_chained_lists, subset_with_one_method),
        *(split_with_negative_fraction, split_too_few),
    ],
)
def test_what_pytorch_refuses_is_refused_in_its_words(program):
    assert_same(program)


def test_tensor_datasets_give_rows():
    def program(t):
        data = t.utils.data.TensorDataset(t.arange(6).reshape(3, 2), t.arange(3.0))
        return len(data), data[1], data[-1], data[1:], list(data)[2]

    assert_same(program)


def test_stacked_datasets_give_tuples_and_dicts():
    def program(t):
        stack = t.utils.data.StackDataset
        several = Batched("abc")
        tuples, dicts = stack(several, [1, 2, 3]), stack(x=several, y=[1, 2, 3])
        return (
            *(len(tuples), tuples[1], dicts[1]),
            *(tuples.__getitems__([2, 0]), dicts.__getitems__([2, 0])),
        )

    assert_same(program)


def test_concatenated_datasets_count_through():
    def program(t):
        data = t.utils.data.ConcatDataset([["a", "b"], [], ["c"]])
        items = [data[i] for i in range(-3, 3)]
        return items, len(data), data.cumulative_sizes, data.cummulative_sizes

    assert_same(program)


def test_adding_datasets_joins_them():
    def program(t):
        rows = t.utils.data.TensorDataset(t.arange(2))
        first, second = streams(t)
        chained, joined = first + second, rows + rows
        kinds = [type(chained).__name__, type(joined).__name__]
        return kinds, list(chained), len(chained), [row[0] for row in joined]

    assert_same(program)


def test_subsets_go_through_to_their_dataset():
    def program(t):
        subset = t.utils.data.Subset
        inner = subset("abcdef", [5, 3, 1])
        rows = subset(t.utils.data.TensorDataset(t.arange(4)), t.tensor([3, 0]))
        return (
            *(list(inner), len(inner), inner.__getitems__([2, 0])),
            subset(inner, [1, 0]).__getitems__([0, 1]),
            subset(Batched("abc"), [2, 1]).__getitems__([1, 0]),
            *(rows[0], subset(t.arange(5), [4, 2, 0])[[0, 2]]),
        )

    assert_same(program)


@pytest.mark.parametrize(
    "lengths",
    [[3, 7], [0.25, 0.75], [0.3, 0.3, 0.4], [1.0], [1], [0.05, 0.95], [0, 10]],
)
@pytest.mark.parametrize("own", [True, False])
def test_splits_are_pytorchs(lengths, own):
    def program(t):
        t.manual_seed(7)
        generator = {"generator": t.Generator().manual_seed(3)} if own else {}
        size = 1 if lengths == [1] else 10
        parts = t.utils.data.random_split(range(size), lengths, **generator)
        return [list(part) for part in parts], t.rand(1)

    assert_same(program)
