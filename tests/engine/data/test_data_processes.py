"""How batches travel between processes, and that no process is left behind."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

import gradtape as gt
from gradtape.utils.data import DataLoader, TensorDataset
from gradtape.utils.data._utils import pool

from ..oracle import describe

pytestmark = pytest.mark.usefixtures("forked")

# Tensors around the size from which memory is sent beside the message.
SMALL, LARGE = 10, 100_000


class Sent:
    """One value that a worker sends, made there."""

    def __init__(self, make):
        self.make = make

    def __len__(self):
        return 1

    def __getitem__(self, key):
        return self.make()


def through_a_worker(make):
    """Return what arrives, not converted."""
    loader = DataLoader(Sent(make), None, num_workers=1, collate_fn=lambda value: value)
    return next(iter(loader))


TENSORS = {
    "plain": lambda n: gt.arange(n),
    "bfloat16": lambda n: gt.arange(n).to(gt.bfloat16),
    "bool": lambda n: gt.arange(n) > 3,
    "complex": lambda n: gt.full((n,), 1 + 2j),
    "permuted": lambda n: gt.arange(6 * n).reshape(2, n, 3).permute(0, 2, 1),
    "strided": lambda n: gt.arange(2 * n)[1::2],
    "expanded": lambda n: gt.arange(n).expand(3, n),
    "gradient": lambda n: gt.zeros(n, requires_grad=True),
    "parameter": lambda n: gt.nn.Parameter(gt.zeros(n)),
    "empty": lambda n: gt.zeros(0, n),
    "scalar": lambda n: gt.tensor(n),
    "sparse": lambda n: gt.eye(3).to_sparse().to_dense() * n,
}


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("apart", [True, False])
def test_tensors_arrive_as_they_were_sent(size, apart, monkeypatch):
    monkeypatch.setattr(pool, "_HAS_MEMORY_FILES", apart and pool._HAS_MEMORY_FILES)
    wanted = {name: make(size) for name, make in TENSORS.items()}
    found = through_a_worker(lambda: wanted)
    for name, tensor in wanted.items():
        seen, sent = describe(found[name]), describe(tensor)
        assert type(found[name]) is type(tensor)
        for fact in ("dtype", "shape", "requires_grad", "is_leaf", "values"):
            assert seen[fact] == sent[fact], name
        if name in ("plain", "permuted"):
            assert seen["stride"] == sent["stride"], name


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_what_arrives_may_be_written_and_used(size):
    tensor, array = through_a_worker(lambda: (gt.zeros(size), np.zeros(size)))
    assert tensor.is_shared()
    tensor.add_(1).requires_grad_()
    array += 1
    (tensor * gt.from_numpy(array)).sum().backward()
    assert tensor.grad.sum() == size
    assert tensor.detach().view(2, -1)[1].sum() == size // 2
    assert tensor.detach().untyped_storage().nbytes() == 4 * size


def test_attributes_of_a_tensor_come_along():
    def make():
        tensor = gt.ones(2)
        tensor.label = "ones"
        return tensor

    assert through_a_worker(make).label == "ones"


def test_batches_larger_than_any_buffer_of_the_system():
    rows = gt.arange(3_000_000).reshape(6, -1)
    for position, (batch,) in enumerate(
        DataLoader(TensorDataset(rows), 2, num_workers=2)
    ):
        assert gt.equal(batch, rows[2 * position : 2 * position + 2])


def test_lists_of_keys_larger_than_any_buffer_of_the_system():
    sizes = [
        len(batch)
        for batch in DataLoader(
            range(200_000), 100_000, num_workers=1, collate_fn=lambda batch: batch
        )
    ]
    assert sizes == [100_000, 100_000]


@pytest.mark.parametrize("method", ["spawn"])
def test_workers_of_another_start_method(method):
    """Nothing is inherited; the dataset and the ends of the pipes are sent."""
    batches = DataLoader(
        TensorDataset(gt.arange(LARGE)),
        LARGE // 2,
        num_workers=2,
        multiprocessing_context=multiprocessing.get_context(method),
    )
    assert batches.multiprocessing_context.get_start_method() == method
    assert [batch.sum().item() for (batch,) in batches] == [1249975000, 3749975000]


def test_what_cannot_be_sent_to_a_new_process_warns():
    batches = DataLoader(
        Sent(lambda: 1), num_workers=1, multiprocessing_context="spawn"
    )
    before = multiprocessing.active_children()
    with (
        pytest.warns(UserWarning, match="Got pickle error when attempting to start"),
        pytest.raises(
            (AttributeError, TypeError, pickle.PicklingError),
            match=r"pickle|local object",
        ),
    ):
        iter(batches)
    assert multiprocessing.active_children() == before


def test_workers_end_with_their_iterator():
    iterator = iter(DataLoader(range(100), num_workers=2))
    next(iterator)
    workers = iterator._workers
    assert all(worker.is_alive() for worker in workers)
    del iterator
    assert [worker.exitcode for worker in workers] == [0, 0]


def test_workers_end_with_their_epoch():
    iterator = iter(DataLoader(range(2), num_workers=2))
    assert len(list(iterator)) == 2
    assert [worker.exitcode for worker in iterator._workers] == [0, 0]
    assert next(iterator, "ended") == "ended"


def test_kept_workers_end_with_their_loader():
    loader = DataLoader(range(2), num_workers=1, persistent_workers=True)
    assert [len(list(loader)), len(list(loader))] == [2, 2]
    (worker,) = loader._iterator._workers
    assert worker.is_alive()
    del loader
    assert worker.exitcode == 0


PROGRAM = """
import os, signal, sys
from gradtape.utils.data import DataLoader
first = DataLoader(range(1000), num_workers=1, persistent_workers=True)
second = DataLoader(range(1000), 10, num_workers=2)
one, two = iter(first), iter(second)
next(one), next(two)
print("loaded", flush=True)
{}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("", 0),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("raise RuntimeError('mine')", 1),
    ],
    ids=["ends", "killed", "raises"],
)
def test_no_worker_outlives_the_program(end, code, root):
    """Workers have the program's output open; reading it ends when they are gone."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(end)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(root / "engine"), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert (done.stdout, done.returncode) == ("loaded\n", code)
    assert done.stderr.endswith("RuntimeError: mine\n" if "mine" in end else "")
    assert done.stderr.count("Traceback") == ("mine" in end)
