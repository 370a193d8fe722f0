"""Functions in several processes, beside PyTorch's."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time

import pytest

import gradtape as gt

from ..oracle import assert_same

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


def start(t, fn, *args, **options):
    options = {"nprocs": 2, "start_method": "fork", **options}
    return t.multiprocessing.start_processes(fn, args, **options)


def tell(index, results):
    results.put((index, os.getpid()))


def double(index, inputs, outputs):
    outputs.put(inputs.get() * 2)


def raising(index):
    if index == 1:
        raise ValueError(f"from {index}")
    time.sleep(60)


def exiting(index):
    os._exit(3)


def killed(index):
    os.kill(os.getpid(), signal.SIGKILL)


def failure(t, fn, **options):
    """Return what is raised when a function fails in a process."""
    module = t.multiprocessing.spawn.__module__
    errors = sys.modules[module].ProcessException
    with pytest.raises(errors) as caught:
        start(t, fn, **options)
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert (again.args, again.__dict__) == (error.args, error.__dict__)
    lines = str(error).split("\n")
    facts = [getattr(error, name, "") for name in ("exit_code", "signal_name")]
    return type(error).__name__, lines[:4], lines[-2:], error.error_index, facts


@pytest.mark.parametrize("fn", [raising, exiting, killed])
def test_the_first_error_ends_all_and_is_raised(fn):
    nprocs = 2 if fn is raising else 1
    assert_same(lambda t: failure(t, fn, nprocs=nprocs))


def test_processes_are_numbered_and_joined():
    results = gt.multiprocessing.get_context("fork").SimpleQueue()
    context = start(gt, tell, results, join=False)
    found = dict(results.get() for _ in range(2))
    assert [found[0], found[1]] == context.pids()
    while not context.join():
        pass
    assert context.join()
    assert [each.exitcode for each in context.processes] == [0, 0]


def test_spawned_processes_are_sent_tensors_by_value():
    context = gt.multiprocessing.get_context("spawn")
    inputs, outputs = context.SimpleQueue(), context.SimpleQueue()
    sent = gt.arange(3)
    inputs.put(sent)
    gt.multiprocessing.spawn(double, (inputs, outputs))
    assert outputs.get().tolist() == [0, 2, 4]
    assert sent.tolist() == [0, 1, 2]


def test_spawn_spawns():
    def program(t):
        return t.multiprocessing.spawn(tell, nprocs=0, start_method="fork")

    assert_same(program)


def test_names_of_the_standard_library():
    def program(t):
        mp = t.multiprocessing
        before = mp.get_sharing_strategy()
        mp.set_sharing_strategy("file_system")
        after = mp.get_sharing_strategy()
        mp.set_sharing_strategy(before)
        return before, after, sorted(mp.get_all_sharing_strategies())

    assert_same(program)
    import multiprocessing

    for name in multiprocessing.__all__:
        assert getattr(gt.multiprocessing, name) is not None
    with pytest.raises(AssertionError, match="invalid sharing strategy 'none'"):
        gt.multiprocessing.set_sharing_strategy("none")
