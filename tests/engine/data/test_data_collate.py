"""Batches of samples of every kind, beside PyTorch's."""

from __future__ import annotations

import array
import collections

import numpy as np
import pytest

from ..oracle import assert_same

Point = collections.namedtuple("Point", "x y")


class Tagged(dict):
    """A dict with something besides its items."""

    tag = ""


class Frozen(collections.abc.Mapping):
    """A mapping that can neither be changed nor made of a dict."""

    def __init__(self):
        self._items = {"a": 1, "b": np.ones(2)}

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)


def tagged(**items):
    found = Tagged(items)
    found.tag = "kept"
    return found


SAMPLES = {
    "ints": lambda t: [1, 2],
    "bools": lambda t: [True, False],
    "bool first": lambda t: [True, 2],
    "floats": lambda t: [1.0, 2],
    "strings": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "tensors": lambda t: [t.arange(2), t.arange(2)],
    "scalars": lambda t: [t.tensor(1.5), t.tensor(2.5)],
    "gradients": lambda t: [t.ones(2, requires_grad=True), t.ones(2)],
    "arrays": lambda t: [np.arange(3.0), np.zeros(3)],
    "numbers of NumPy": lambda t: [np.float32(1), np.float32(2)],
    "bool of NumPy": lambda t: [np.bool_(True), np.bool_(False)],
    "tuples": lambda t: [(1, "a"), (2, "b")],
    "lists": lambda t: [[1, "a"], [2, "b"]],
    "named": lambda t: [Point(1, "a"), Point(2, "b")],
    "dicts": lambda t: [{"a": 1, "b": "x"}, {"b": "y", "a": 2}],
    "defaults": lambda t: [collections.defaultdict(int, a=1)] * 2,
    "tagged": lambda t: [tagged(a=1), tagged(a=2)],
    "frozen": lambda t: [Frozen(), Frozen()],
    "ranges": lambda t: [range(2), range(2, 4)],
    "deques": lambda t: [collections.deque([1, 2]), collections.deque([3, 4])],
    "array.array": lambda t: [array.array("i", [1, 2])] * 2,
    "nested": lambda t: [{"a": [(1, np.ones(2)), "s"]}] * 2,
    # refused
    "None": lambda t: [None, None],
    "sets": lambda t: [{1}, {2}],
    "object": lambda t: [object],
    "unequal": lambda t: [[1, 2], [1]],
    "unequal tensors": lambda t: [t.ones(2), t.ones(3)],
    "strings of NumPy": lambda t: [np.array(["a"]), np.array(["b"])],
    "objects of NumPy": lambda t: [np.array([object()])],
    "nothing": lambda t: [],
    "missing key": lambda t: [{"a": 1}, {"b": 1}],
    "sparse": lambda t: [t.ones(2).to_sparse()] * 2,
}


def seen(value):
    """Return a batch together with the types of its containers."""
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, {key: seen(value[key]) for key in value}
    if isinstance(value, collections.abc.Sequence) and not isinstance(
        value, str | bytes
    ):
        return type(value).__name__, [seen(each) for each in value]
    return str(value) if isinstance(value, np.ndarray | bytes) else value


@pytest.mark.parametrize("name", SAMPLES)
def test_batches_are_pytorchs(name):
    def program(t):
        batch = t.utils.data.default_collate(SAMPLES[name](t))
        return seen(batch), getattr(batch, "tag", None)

    assert_same(program)


ADDRESSES = {"objects of NumPy"}  # what these print is different every time


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ADDRESSES])
def test_single_samples_are_converted_as_pytorchs(name):
    assert_same(lambda t: seen(t.utils.data.default_convert(SAMPLES[name](t))))


def test_types_of_ones_own_are_collated_by_the_map():
    class Name(str):
        __slots__ = ()

    def program(t):
        utils = t.utils.data._utils.collate

        def joined(batch, *, collate_fn_map=None):
            return "+".join(batch)

        def summed(batch, *, collate_fn_map=None):
            return sum(batch), sorted(kind.__name__ for kind in collate_fn_map)

        table = {int: summed, str: joined}
        return (
            utils.collate([("a", 1), ("b", 2)], collate_fn_map=table),
            utils.collate([Name("a"), Name("b")], collate_fn_map=table),
            utils.collate([True, True], collate_fn_map=table),
            utils.collate([[3], [4]], collate_fn_map={list: joined_lengths}),
        )

    assert_same(program)
    assert_same(lambda t: t.utils.data._utils.collate.collate([1]))


def joined_lengths(batch, *, collate_fn_map=None):
    return [len(each) for each in batch]


def test_the_default_map_may_be_extended():
    def program(t):
        table = t.utils.data._utils.collate.default_collate_fn_map
        table[set] = joined_lengths
        try:
            return t.utils.data.dataloader.default_collate([{1, 2}, {3}])
        finally:
            del table[set]

    assert_same(program)


def test_batches_made_in_a_worker_are_shared():
    def program(t):
        worker = t.utils.data._utils.worker
        before = t.utils.data.default_collate([t.zeros(1)]).is_shared()
        worker._worker_info = "somebody"
        try:
            batch = t.utils.data.default_collate([np.zeros(1)])
        finally:
            worker._worker_info = None
        return before, batch.is_shared(), batch

    assert_same(program)


def test_everything_that_can_be_pinned_is_asked():
    import gradtape

    class Mine:
        pinned = False

        def pin_memory(self):
            self.pinned = True
            return self

    one, two, three = Mine(), Mine(), Mine()
    batch = {"a": [one, "s"], "b": Point(two, 1), "c": (three,), "d": 2}
    found = gradtape.utils.data._utils.pin_memory.pin_memory(batch)
    assert found == batch
    assert one.pinned
    assert two.pinned
    assert three.pinned
