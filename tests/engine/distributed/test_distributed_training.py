"""Models trained by several processes, beside PyTorch's and beside one process."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import gradtape
from gradtape import distributed as dist

from ..oracle import assert_close, assert_same, describe
from .processes import answer, assert_agree, launch, outcomes, run_all

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

SAMPLES = 24


def data(t):
    t.manual_seed(5)
    return t.rand(SAMPLES, 3), t.rand(SAMPLES, 1)


def network(t, seed, middle=None):
    t.manual_seed(seed)
    nn = t.nn
    layers = [nn.Linear(3, 4), middle or nn.Tanh(), nn.Linear(4, 1)]
    return nn.Sequential(*layers)


def train(t, model, rows, steps=4):
    """Train on a part of the data; return the losses and the parameters."""
    x, y = data(t)
    optimizer = t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x[rows]) - y[rows]) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().tolist() for p in model.parameters()]


def wrapped(t, model, **options):
    return t.nn.parallel.DistributedDataParallel(model, **options)


def rows_of(rank, size):
    return slice(rank * SAMPLES // size, (rank + 1) * SAMPLES // size)


def training(t, rank, size):
    # Other parameters in each process: those of process 0 count.
    model = wrapped(t, network(t, seed=rank))
    return train(t, model, rows_of(rank, size))


def training_in_small_buckets(t, rank, size):
    options = {"bucket_cap_mb": 1e-6, "gradient_as_bucket_view": True}
    return train(t, wrapped(t, network(t, rank), **options), rows_of(rank, size))


def accumulating(t, rank, size):
    model = wrapped(t, network(t, seed=0))
    x, y = data(t)
    seen = []
    for part, last in ((slice(0, 8), False), (slice(8, 16), True)):
        rows = slice(part.start + rank, part.stop, size)
        with nullcontext() if last else model.no_sync():
            ((model(x[rows]) - y[rows]) ** 2).sum().backward()
        seen.append([p.grad.tolist() for p in model.parameters()])
    return seen


def buffers(t, rank, size):
    model = wrapped(t, network(t, rank, t.nn.BatchNorm1d(4)))
    found = train(t, model, rows_of(rank, size))
    model.eval()
    model(t.ones(1, 3))  # takes the buffers of process 0
    return found, model.state_dict(), sorted(model.state_dict())


def branches_of(t):
    class Branches(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = t.nn.Linear(3, 2), t.nn.Linear(3, 2)
            self.never = t.nn.Linear(3, 2)

        def forward(self, x, which):
            return [self.first, self.second][which](x)

    return Branches()


def unused(t, rank, size):
    t.manual_seed(0)
    options = {"find_unused_parameters": True}
    model = wrapped(t, branches_of(t), **options)
    x = data(t)[0]
    seen = []
    for which in (rank % 2, 0):
        model(x, which).sum().backward()
        seen.append([p.grad is None or p.grad.tolist() for p in model.parameters()])
    return seen


def left_out(t, rank, size):
    model = wrapped(t, branches_of(t))
    model(t.ones(1, 3), 0).sum().backward()
    kind, sentence = answer(lambda: model(t.ones(1, 3), 0))
    return kind, sentence[:60], sentence.split("for rank")[1].split("\n")[0]


def unlike(t, rank, size):
    """PyTorch's processes time out or end at some of these: ours alone."""
    if t.__name__ == "torch":
        return None
    return [
        answer(lambda: wrapped(t, t.nn.Linear(2 + rank, 1))),
        answer(lambda: wrapped(t, t.nn.Linear(2, 1, bias=rank == 0))),
    ]


def sampling(t, rank, size):
    sampler = t.utils.data.DistributedSampler(range(11), shuffle=True, seed=3)
    sampler.set_epoch(2)
    loader = t.utils.data.DataLoader(range(11), batch_size=2, sampler=sampler)
    return list(sampler), [batch.tolist() for batch in loader], sampler.num_replicas


def synchronised(t, rank, size):
    """What a net with SyncBatchNorm learns; PyTorch's needs a GPU, so ours alone."""
    if t.__name__ == "torch":
        return None
    model = network(t, 0, t.nn.BatchNorm1d(4))
    model = wrapped(t, t.nn.SyncBatchNorm.convert_sync_batchnorm(model))
    found = train(t, model, slice(0, 9) if rank == 0 else slice(9, SAMPLES), steps=1)
    gradients = [p.grad.tolist() for p in model.parameters()]
    model.eval()
    return found[0], gradients, model.module.state_dict()


PROGRAMS = (
    *(training, training_in_small_buckets, accumulating, buffers, unused, left_out),
    sampling,
)
OURS = (unlike, synchronised)


@pytest.fixture(scope="module")
def in_two():
    """What the programs give in two processes; one launch for all of them."""
    return outcomes(2, *PROGRAMS, *OURS)


@pytest.mark.parametrize("name", [program.__name__ for program in PROGRAMS])
def test_two_processes_train_as_pytorchs(name, in_two):
    assert_agree(in_two, name, rtol=1e-5)


def assert_trained_as_one(found):
    _, alone = train(gradtape, network(gradtape, seed=0), slice(None))
    for _, parameters in found:
        assert_close(parameters, describe(alone), 1e-6, "parameters")


def test_two_processes_train_as_one_with_the_whole_batch(in_two):
    assert_trained_as_one(in_two["training"]["gradtape"])


def test_four_processes_train_as_one_with_the_whole_batch():
    found = launch(run_all, 4, {"training": training}, "gradtape")
    assert_trained_as_one([each["training"] for each in found])


def test_models_that_differ_between_processes_are_refused(in_two):
    (sizes, counts), (sizes_there, counts_there) = in_two["unlike"]["gradtape"]
    assert "params[0]" in sizes[1]
    assert "sizes [1, 3] appears not to match" in sizes_there[1]
    assert counts[1] == (
        "DDP expects same model across all ranks, but Rank 0 has 2 params, "
        "while rank 1 has inconsistent 1 params."
    )
    assert counts_there[0] == "RuntimeError"


# ---- batch normalisation over processes ---------------------------------------------


def test_synchronised_normalisation_sees_the_joined_batch(in_two):
    first, second = in_two["synchronised"]["gradtape"]
    t, model = gradtape, network(gradtape, 0, gradtape.nn.BatchNorm1d(4))
    x, y = data(t)
    parts = (model(x) - y) ** 2
    # The mean over processes of their losses, which have unlike numbers of samples.
    ((parts[:9].mean() + parts[9:].mean()) / 2).backward()
    for found, parameter in zip(first[1], model.parameters(), strict=True):
        assert np.allclose(found, parameter.grad, rtol=1e-5, atol=1e-6)
    assert first[1] == second[1]
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        want = describe(model.state_dict()[f"1.{name}"])["values"]
        assert_close(first[2][f"1.{name}"]["values"], want, 1e-5, name)


def test_conversion_to_synchronised_layers_is_pytorchs():
    def program(t):
        nn = t.nn
        t.manual_seed(0)
        model = nn.Sequential(
            nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2, affine=False)),
            nn.BatchNorm1d(3, eps=0.1, momentum=None),
            nn.InstanceNorm1d(2),
        )
        model[1].weight.data.fill_(7)
        model[1].eval()
        converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        alone = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm3d(2))
        layer = nn.SyncBatchNorm(3)
        return [
            *(str(converted), converted is model, converted[1].training),
            *(
                converted.state_dict(),
                str(alone),
                layer(t.arange(12.0).reshape(2, 3, 2)),
            ),
        ]

    assert_same(program)


# ---- one process --------------------------------------------------------------------


@pytest.fixture
def alone():
    """A group of this process, in both libraries."""
    libraries = [gradtape, pytest.importorskip("torch")]
    for t in libraries:
        store = t.distributed.HashStore()
        t.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    for t in libraries:
        t.distributed.destroy_process_group()


def refused(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.usefixtures("alone")
def test_what_users_touch_is_pytorchs():
    def program(t):
        model = wrapped(t, network(t, 0))
        names = (
            *("device_ids", "output_device", "device", "device_type", "dim"),
            *("static_graph", "find_unused_parameters", "gradient_as_bucket_view"),
            *("bucket_bytes_cap", "broadcast_buffers", "is_multi_device_module"),
            *("require_backward_grad_sync", "parameters_to_ignore", "training"),
        )
        y = model(t.ones(2, 3))
        y.sum().backward()
        return [
            *(str(model), [str(getattr(model, name)) for name in names]),
            *(
                list(model.state_dict()),
                y,
                [p.grad.tolist() for p in model.parameters()],
            ),
            *(type(model.module).__name__, [n for n, _ in model.named_parameters()]),
        ]

    assert_same(program)


@pytest.mark.usefixtures("alone")
def test_what_cannot_be_wrapped_is_refused_in_pytorchs_words():
    def program(t):
        nn = t.nn
        wrap = partial(wrapped, t)
        frozen = nn.Linear(2, 2).requires_grad_(False)
        calls = (
            lambda: wrap(nn.ReLU()),
            lambda: wrap(frozen),
            lambda: wrap(nn.Linear(2, 2), device_ids=[0, 1]),
            lambda: wrap(nn.Linear(2, 2), device_ids=[0])[0],
            lambda: wrap(nn.LazyLinear(2)),
            lambda: wrap(nn.Linear(2, 2)).register_comm_hook(None, 3),
            lambda: type(wrap(nn.Linear(2, 2), broadcast_buffers=False)).__name__,
        )
        return [refused(call) for call in calls]

    assert_same(program)


@pytest.mark.usefixtures("alone")
def test_what_the_wrapper_does_not_have_says_what_to_use():
    model = wrapped(gradtape, gradtape.nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="all_reduce on them"):
        model.register_comm_hook(None, print)
    with pytest.raises(NotImplementedError, match="DistributedSampler"):
        model.join()


@pytest.mark.usefixtures("alone")
def test_sparse_gradients_are_refused():
    model = wrapped(gradtape, gradtape.nn.Embedding(3, 2, sparse=True))
    loss = model(gradtape.tensor([1])).sum()
    with pytest.raises(RuntimeError, match="index 0 is sparse"):
        loss.backward()


def test_without_a_group_the_wrapper_says_so():
    with pytest.raises(ValueError, match="has not been initialized"):
        wrapped(gradtape, gradtape.nn.Linear(1, 1))
    assert not dist.is_initialized()
