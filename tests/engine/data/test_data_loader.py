"""The loader in one process: options, order, lengths, beside PyTorch's."""

from __future__ import annotations

import copy

import pytest

from ..oracle import assert_same


class Named:
    """Something whose text is the same in every run."""

    def __repr__(self):
        return "named"


def stream(t, count, claimed=None):
    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(count))

        def __str__(self):
            return "a stream"

    if claimed is not None:
        Stream.__len__ = lambda self: claimed
    return Stream()


REFUSED = {
    "workers": {"num_workers": -1},
    "timeout": {"timeout": -1},
    "prefetch": {"prefetch_factor": 2},
    "prefetch 0": {"prefetch_factor": 0},
    "prefetch negative": {"num_workers": 1, "prefetch_factor": -1},
    "persistent": {"persistent_workers": True},
    "sampler and shuffle": {"sampler": [1], "shuffle": True},
    "two samplers": {"sampler": [1], "batch_sampler": [[1]]},
    "batch sampler and size": {"batch_sampler": [[1]], "batch_size": 2},
    "batch sampler and none": {"batch_sampler": [[1]], "batch_size": None},
    "batch sampler and shuffle": {"batch_sampler": [[1]], "shuffle": True},
    "batch sampler and drop": {"batch_sampler": [[1]], "drop_last": True},
    "no batch to drop": {"batch_size": None, "drop_last": True},
    "batch size": {"batch_size": 0},
    "drop last": {"drop_last": "no"},
    "context": {"multiprocessing_context": "fork"},
    "no context": {"num_workers": 1, "multiprocessing_context": "spoon"},
    "no text": {"num_workers": 1, "multiprocessing_context": 3},
}
REFUSED_FOR_STREAMS = {
    "shuffle": {"shuffle": True},
    "sampler": {"sampler": Named()},
    "batch sampler": {"batch_sampler": Named()},
    "all": {"shuffle": True, "sampler": Named(), "batch_sampler": Named()},
}


@pytest.mark.parametrize("name", REFUSED)
def test_contradictions_are_refused_in_pytorchs_words(name):
    assert_same(lambda t: t.utils.data.DataLoader(range(4), **REFUSED[name]))


@pytest.mark.parametrize("name", REFUSED_FOR_STREAMS)
def test_streams_refuse_to_be_chosen_from(name):
    options = REFUSED_FOR_STREAMS[name]
    assert_same(lambda t: t.utils.data.DataLoader(stream(t, 3), **options))


def test_shuffling_nothing_is_refused():
    assert_same(lambda t: t.utils.data.DataLoader([], shuffle=True))


def test_a_timeout_needs_workers():
    assert_same(lambda t: iter(t.utils.data.DataLoader([1], timeout=1)))


def epochs(t, loader):
    return [list(loader), list(loader), t.rand(1)]


OPTIONS = {
    "plain": {},
    "batches": {"batch_size": 4},
    "drop": {"batch_size": 4, "drop_last": True},
    "singles": {"batch_size": None},
    "shuffle": {"batch_size": 3, "shuffle": True},
    "shuffled singles": {"batch_size": None, "shuffle": True},
    "sampler": {"batch_size": 2, "sampler": [5, 3, 1]},
    "batch sampler": {"batch_sampler": [[1, 2], [7]]},
    "collate": {"batch_size": 4, "collate_fn": repr},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("kind", ["numbers", "rows", "subset", "together"])
def test_batches_and_their_order_are_pytorchs(name, kind):
    class Together(list):
        def __getitems__(self, keys):
            return [self[key] * 10 for key in keys]

    def program(t):
        t.manual_seed(1)
        data = t.utils.data
        rows = data.TensorDataset(t.arange(20.0).reshape(10, 2), t.arange(10))
        dataset = {
            "numbers": [float(i) for i in range(10)],
            "rows": rows,
            "subset": data.Subset(data.Subset(rows, range(9, -1, -1)), range(9)),
            "together": Together(range(10)),
        }[kind]
        loader = data.DataLoader(dataset, **OPTIONS[name])
        return len(loader), epochs(t, loader), loader.batch_size, loader.drop_last

    assert_same(program)


def test_a_generator_of_ones_own_draws_the_order():
    def program(t):
        generator = t.Generator().manual_seed(8)
        loader = t.utils.data.DataLoader(range(7), 3, shuffle=True, generator=generator)
        return epochs(t.manual_seed(0) and t, loader), generator.get_state()

    assert_same(program)


def test_rows_keep_their_gradients():
    def program(t):
        rows = t.ones(3, 2, requires_grad=True)
        (batch,) = next(
            iter(t.utils.data.DataLoader(t.utils.data.TensorDataset(rows), 2))
        )
        batch.sum().backward()
        return batch, rows.grad

    assert_same(program)


def test_rows_of_a_subclass_are_fetched_by_its_method():
    def program(t):
        class Mine(t.utils.data.TensorDataset):
            def __getitem__(self, index):
                return (*super().__getitem__(index), index)

        return list(t.utils.data.DataLoader(Mine(t.arange(4)), 3))

    assert_same(program)


@pytest.mark.parametrize("sampler", [[0, 4], [0, -3], [-1, 0], [True, 0]])
def test_odd_keys_of_rows(sampler):
    def program(t):
        data = t.utils.data.TensorDataset(t.arange(2))
        return list(t.utils.data.DataLoader(data, 2, sampler=sampler))

    assert_same(program)


@pytest.mark.parametrize("batch_size", [None, 2, 3])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("claimed", [None, 4, 5, 7])
def test_streams_come_to_their_end(batch_size, drop_last, claimed):
    """What they claim as their length counts when it is asked for, and may be wrong."""

    def program(t):
        drops = drop_last and batch_size is not None
        loader = t.utils.data.DataLoader(
            stream(t, 5, claimed), batch_size, drop_last=drops
        )
        before = list(loader)
        length = len(loader) if claimed is not None else None
        return before, length, list(loader)

    assert_same(program)


def test_a_stream_of_unknown_length_has_none():
    def program(t):
        return len(t.utils.data.DataLoader(stream(t, 5)))

    assert_same(program)


@pytest.mark.parametrize(
    "name",
    ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "num_workers"],
)
def test_what_the_loader_was_made_of_stays(name):
    def program(t):
        loader = t.utils.data.DataLoader(range(3))
        setattr(loader, name, 0)
        return getattr(loader, name)

    assert_same(program)


@pytest.mark.parametrize("device", ["", "cuda"])
def test_pinning_without_an_accelerator_warns(device):
    def program(t):
        loader = t.utils.data.DataLoader(
            [1.0, 2.0], 2, pin_memory=True, pin_memory_device=device
        )
        return list(loader)

    torch = pytest.importorskip("torch")
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator")
    assert_same(program)


def test_more_workers_than_processors_warn():
    def program(t):
        return t.utils.data.DataLoader(range(3), num_workers=1000).num_workers

    assert_same(program)


def test_the_iterator_has_a_length_and_stays_where_it_is():
    def program(t):
        iterator = iter(t.utils.data.DataLoader(range(5), 2))
        next(iterator)
        return len(iterator), iter(iterator) is iterator, list(iterator)

    assert_same(program)
    assert_same(lambda t: copy.copy(iter(t.utils.data.DataLoader([1]))))


def test_errors_of_a_dataset_are_raised_as_they_are():
    assert_same(lambda t: list(t.utils.data.DataLoader({0: "a", 2: "c"})))


def test_the_profiler_shows_the_loader():
    def program(t):
        loader = t.utils.data.DataLoader(range(2))
        with t.autograd.profiler.profile() as prof:
            list(loader)
        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        return sum(event.name == name for event in prof.function_events)

    assert_same(program)


def test_names_that_programs_import():
    def program(t):
        data = t.utils.data
        return (
            data.dataloader.default_collate is data.default_collate,
            data.dataloader.default_convert is data.default_convert,
            data.dataloader.get_worker_info is data.get_worker_info,
            data._utils.collate.default_collate is data.default_collate,
            data._utils.worker.WorkerInfo.__name__,
            data.sampler.BatchSampler is data.BatchSampler,
            data.dataset.random_split is data.random_split,
            data.distributed.DistributedSampler is data.DistributedSampler,
            data.dataloader._MultiProcessingDataLoaderIter.__name__,
            data._utils.MP_STATUS_CHECK_INTERVAL,
            data.get_worker_info(),
            (data._DatasetKind.Map, data.dataloader._DatasetKind.Iterable),
            data.Dataset[int] is not None,
        )

    assert_same(program)
