"""The loader with worker processes: same batches, same seeds, same errors."""

from __future__ import annotations

import os
import random
import signal

import numpy as np
import pytest

import gradtape as gt

from ..oracle import assert_same, outcome

pytestmark = pytest.mark.usefixtures("forked")


class Numbers:
    """What is asked for, made by a function of the key."""

    def __init__(self, make=lambda key: key, count=10):
        self.make = make
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, key):
        return self.make(key)


def loader(t, make=lambda key: key, *, count=10, **options):
    options = {"num_workers": 2, **options}
    return t.utils.data.DataLoader(Numbers(make, count), **options)


def streams(t, *, start=0, length=10):
    """Return a dataset of which worker ``n`` gives ``length - start * n`` numbers."""

    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            info = t.utils.data.get_worker_info()
            return iter(range(start * info.id, length))

        def __len__(self):
            return 3

        def __repr__(self):
            return "a stream"

    return Stream()


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_batches_and_their_order_are_pytorchs(batch_size, persistent):
    def program(t):
        t.manual_seed(3)
        batches = loader(
            t,
            lambda key: (t.full((2,), float(key)), key, str(key)),
            batch_size=batch_size,
            shuffle=True,
            persistent_workers=persistent,
        )
        return [list(batches) for _ in range(3)], t.rand(1)

    assert_same(program)


@pytest.mark.parametrize("drop_last", [False, True])
def test_streams_of_unequal_length_take_turns(drop_last):
    def program(t):
        batches = t.utils.data.DataLoader(
            streams(t, start=5), 2, num_workers=2, drop_last=drop_last
        )
        kept = t.utils.data.DataLoader(
            streams(t, start=4), 3, num_workers=2, persistent_workers=True
        )
        return list(batches), list(kept), list(kept)

    assert_same(program)


def test_streams_that_give_more_than_they_claimed_warn():
    def program(t):
        batches = t.utils.data.DataLoader(streams(t), num_workers=1)
        len(batches)
        return len(list(batches))

    assert_same(program)


def test_workers_draw_what_pytorchs_draw():
    def program(t):
        t.manual_seed(4)
        batches = loader(
            t, lambda key: (t.rand(2), random.random(), np.random.rand()), count=6
        )
        own = loader(t, lambda key: t.rand(1), generator=t.Generator().manual_seed(1))
        return list(batches), list(batches), list(own)

    assert_same(program)


def test_a_worker_knows_who_it_is():
    def program(t):
        data = t.utils.data
        seen = []

        def begin(worker_id):
            info = data.get_worker_info()
            seen.append((worker_id, info.id, info.num_workers, info.worker_method))
            seen.append((info.seed, t.initial_seed(), len(info.dataset), info.rng))
            seen.append(t.get_num_threads())

        t.manual_seed(2)
        batches = loader(
            t, lambda key: str(seen), count=4, batch_size=1, worker_init_fn=begin
        )
        return list(batches), data.get_worker_info()

    assert_same(program)


def test_a_worker_cannot_be_renamed():
    def program(t):
        def begin(worker_id):
            t.utils.data.get_worker_info().id = 3

        return list(loader(t, worker_init_fn=begin))

    assert outcome(program, gt)[1] == "FrozenInstanceError"


def test_numpys_seeds_are_pytorchs():
    def program(t):
        state = t.utils.data._utils.worker._generate_state
        return [state(seed, n) for seed in (0, 2**32, 2**63 - 1) for n in (0, 3)]

    assert_same(program)


def test_batches_come_as_they_are_ready():
    def program(t):
        batches = loader(t, in_order=False, batch_size=3, prefetch_factor=1)
        return sorted(key for batch in batches for key in batch.tolist())

    assert_same(program)


def test_an_epoch_may_be_left_and_begun_again():
    def program(t):
        batches = loader(t, batch_size=2, persistent_workers=True)
        first = next(iter(batches))
        again = iter(batches)
        return first, list(again), next(again, "ended"), list(batches)

    assert_same(program)


# ---- errors ----


class TwoArgumentsError(Exception):
    """An exception that is not made of a text alone."""

    def __init__(self, one, two):
        super().__init__(one, two)


def failing(error):
    def make(key):
        if key == 3:
            raise error
        return key

    return make


@pytest.mark.parametrize(
    "error",
    [KeyError("three"), ValueError("three"), TwoArgumentsError(1, 2), StopIteration()],
    ids=["key", "value", "two arguments", "stop"],
)
def test_errors_carry_the_workers_traceback_and_loading_goes_on(error):
    def program(t):
        batches = iter(loader(t, failing(error), batch_size=None, count=6))
        found = []
        for _ in range(6):
            try:
                found.append(next(batches))
            except Exception as caught:
                lines = str(caught.args[0]).strip().split("\n")
                kind = type(caught).__name__
                found.append((kind, lines[:2], lines[-1], repr(caught)[:30]))
                assert any("raise error" in line for line in lines)
                # One of its frames holds it: the collector would find PyTorch's
                # loader late, with its queues gone, and wait 5 s for each worker.
                caught.__traceback__ = None
        return found

    assert_same(program)


def test_errors_of_the_first_call_in_a_worker_are_raised():
    def begin(worker_id):
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError) as caught:
        list(loader(gt, worker_init_fn=begin))
    lines = str(caught.value).strip().split("\n")
    assert lines[:2] == [
        "Caught RuntimeError in DataLoader worker process 0.",
        "Original Traceback (most recent call last):",
    ]
    assert lines[-1] == "RuntimeError: not today"


def test_what_cannot_be_pickled_is_said_and_no_wait_is_forever():
    class LocalError(Exception):
        pass

    with pytest.raises(Exception, match=r"(?s)Caught .*pickle"):
        list(loader(gt, lambda key: lambda: key, batch_size=None))
    with pytest.raises(RuntimeError, match=r"(?s)Caught LocalError.*mine"):
        list(loader(gt, failing(LocalError("mine")), batch_size=None))


def test_tensors_with_a_history_do_not_cross():
    scale = gt.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf"):
        list(loader(gt, lambda key: scale * key, batch_size=None))


# PyTorch notices through a signal handler, at a moment of chance; so not beside it.
@pytest.mark.parametrize(
    ("die", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed. "),
        (lambda: os._exit(3), "exited unexpectedly with exit code 3. Details are "),
    ],
    ids=["killed", "gone"],
)
def test_a_worker_that_dies_is_noticed(die, how):
    batches = iter(
        # Asked for one at a time, the worker has sent all before when it dies.
        loader(
            gt,
            lambda key: die() if key == 4 else key,
            batch_size=None,
            prefetch_factor=1,
        )
    )
    assert [next(batches) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="exited unexpectedly") as caught:
        next(batches)
    pid = batches._workers[0].pid
    assert str(caught.value) == f"DataLoader worker (pid(s) {pid}) exited unexpectedly"
    assert str(caught.value.__cause__).startswith(
        f"DataLoader worker (pid {pid}) {how}"
    )


def test_a_worker_that_takes_too_long_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(gt.utils.data._utils.worker, "MP_STATUS_CHECK_INTERVAL", 0.1)

    def program(t):
        def make(key):
            signal.pause()

        list(loader(t, make, num_workers=1, timeout=0.1))

    found = outcome(program, gt)
    assert found[1:] == ("RuntimeError", "DataLoader timed out after 0.1 seconds")
