"""Collectives in real processes, beside PyTorch's."""

from __future__ import annotations

import sys

import pytest

from .processes import answer, assert_agree, outcomes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

NAMES = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")
TYPES = (
    *("int32", "int64", "uint8", "bool", "float32", "float64", "float16"),
    *("bfloat16", "complex64"),
)


def values(t, rank, dtype):
    if dtype == "bool":
        return t.tensor([rank == 0, True, False])
    return (t.tensor([1, 3, 100]) * (rank + 1)).to(getattr(t, dtype))


def numbers(tensor):
    """Return values that compare: PyTorch's bfloat16 has no numbers of its own."""
    return tensor.float().tolist() if tensor.is_floating_point() else tensor.tolist()


def reductions(t, rank, size):
    dist = t.distributed
    found = {}
    for name in NAMES:
        op = getattr(dist.ReduceOp, name)
        for dtype in TYPES:
            x = values(t, rank, dtype)
            found[name, dtype] = answer(
                lambda x=x, op=op: (dist.all_reduce(x, op), numbers(x))[1]
            )
            y = values(t, rank, dtype)
            into = {"dst": size - 1, "op": op}
            refused = answer(lambda y=y, into=into: dist.reduce(y, **into))
            # Others than the destination keep what they like.
            shown = rank == size - 1 and not refused
            found[name, dtype, "reduce"] = (
                refused and refused[0],
                numbers(y) if shown else None,
            )
    big = (t.arange(40_000.0) + rank).reshape(200, 200).t()
    dist.all_reduce(big)
    part = t.zeros(3)
    dist.reduce_scatter(part, [t.ones(3) * i + rank for i in range(size)])
    rows = t.zeros(2, 3)
    dist.reduce_scatter_single(rows, t.arange(6.0 * size).reshape(2 * size, 3) * rank)
    return found, big, part, rows


def everything_like(t, size):
    return [t.zeros(3, dtype=t.int64) for _ in range(size)]


def sharing(t, rank, size):
    dist = t.distributed
    last = size - 1
    x = t.arange(3) + 10 * rank
    everything = everything_like(t, size)
    dist.all_gather(everything, x)
    row = t.zeros(3 * size, dtype=t.int64)
    dist.all_gather_single(row, x)
    gathered = everything_like(t, size) if rank == last else None
    dist.gather(x, gathered, dst=last)
    mine = t.zeros(2)
    dist.scatter(mine, [t.ones(2) * i for i in range(size)] if rank == 0 else None)
    given = t.full((2, 2), float(rank)).t()
    dist.broadcast(given, last)
    swapped = [t.zeros(2) for _ in range(size)]
    dist.all_to_all(swapped, [t.tensor([rank, i]).float() for i in range(size)])
    evenly = t.zeros(size, 2)
    dist.all_to_all_single(evenly, t.arange(2.0 * size).reshape(size, 2) + 100 * rank)
    # Process i gets i + 1 rows from each.
    rows = t.arange(size * (size + 1) / 2) + 100 * rank
    unevenly = t.zeros(size * (rank + 1))
    sizes = list(range(1, size + 1))
    dist.all_to_all_single(unevenly, rows, [rank + 1] * size, sizes)
    return everything, row, gathered, mine, given, swapped, evenly, unevenly


def objects(t, rank, size):
    dist = t.distributed
    last = size - 1
    mine = {"rank": rank, "text": "x" * (10 * rank), "tensor": t.ones(rank)}
    everything = [None] * size
    dist.all_gather_object(everything, mine)
    gathered = [None] * size if rank == last else None
    dist.gather_object(mine, gathered, dst=last)
    given = [mine, rank] if rank == 0 else [None, None]
    dist.broadcast_object_list(given, 0)
    output = [None]
    inputs = [f"for {i}" * (i + 1) for i in range(size)] if rank == last else None
    dist.scatter_object_list(output, inputs, src=last)
    if rank == 0:
        dist.send_object_list([1, {"a": 2}], 1)
    received = [None, None]
    if rank == 1:
        dist.recv_object_list(received, 0)
    return everything, gathered, given, output, received


def messages(t, rank, size):
    dist = t.distributed
    right, left = (rank + 1) % size, (rank - 1) % size
    x, y = t.zeros(2), t.zeros(3)
    sent = [
        dist.isend(t.ones(2) * rank, right, tag=1),
        dist.isend(t.ones(3) * 10 * rank, right, tag=2),
    ]
    # In another order than they are sent.
    received = [dist.irecv(y, left, tag=2), dist.irecv(x, left, tag=1)]
    done = [work.wait() for work in (*received, *sent)]
    z = t.zeros(1)
    batch = [
        dist.P2POp(dist.isend, t.ones(1) * rank, right),
        dist.P2POp(dist.irecv, z, left),
    ]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    first, second = t.zeros(1), t.zeros(1)
    if rank == 0:
        dist.send(t.ones(1), 1)
        dist.send(t.ones(1) * 2, 1)
        source = None
    else:
        early, late = dist.irecv(first, 0), dist.irecv(second, 0)
        late.wait()
        early.wait()
        source = early.is_completed()
    dist.barrier()
    anyone = t.zeros(1)
    came = dist.recv(anyone) if rank == 0 else dist.send(t.ones(1) * 7, 0)
    return x, y, done, z, str(batch), first, second, source, came, anyone


def groups(t, rank, size):
    dist = t.distributed
    halves = [dist.new_group([0, 1]), dist.new_group([3, 2])]
    mine, other = halves[rank // 2], halves[1 - rank // 2]
    x = t.ones(1) * rank
    dist.all_reduce(x, group=mine)
    y = t.ones(1) * rank
    dist.broadcast(y, group=mine, group_src=1)
    outside = [
        answer(lambda: dist.all_reduce(t.ones(1), group=other)),
        answer(lambda: dist.get_rank(other)),
        answer(lambda: dist.get_world_size(other)),
        answer(lambda: dist.barrier(other)),
        answer(lambda: dist.get_backend(other)),
    ]
    everyone = dist.new_group()
    z = t.ones(1)
    dist.all_reduce(z, group=everyone)
    w = t.ones(1) * rank
    if rank in (0, 2):
        local = dist.new_group([0, 2], use_local_synchronization=True)
        dist.all_reduce(w, group=local)
    inside = (
        dist.get_rank(mine),
        dist.get_world_size(mine),
        dist.get_process_group_ranks(mine),
        dist.get_group_rank(mine, rank),
        dist.get_global_rank(mine, 1),
        dist.get_backend(mine),
    )
    return x, y, outside, z, w, inside


def works(t, rank, size):
    dist = t.distributed
    tensors = [t.ones(2) * (rank + i) for i in range(5)]
    started = [dist.all_reduce(x, async_op=True) for x in tensors]
    total = t.ones(1)
    dist.all_reduce(total)  # while others are on their way
    waited = [work.wait() for work in reversed(started)]
    states = [work.is_completed() for work in started]
    gathered = [t.zeros(1) for _ in range(size)]
    work = dist.all_gather(gathered, t.ones(1) * rank, async_op=True)
    work.wait()
    return tensors, total, waited, states, gathered, dist.barrier(async_op=True).wait()


def refusals(t, rank, size):
    dist = t.distributed
    one, two = t.ones(1), t.ones(2)
    calls = [
        lambda: dist.all_reduce(1),
        lambda: dist.all_gather([1], one),
        lambda: dist.all_gather("x", one),
        lambda: dist.all_gather([one, two], one),
        lambda: dist.all_gather([one], one),
        lambda: dist.all_gather([one.double(), one.double()], one),
        lambda: dist.broadcast(one, 7),
        lambda: dist.broadcast(one),
        lambda: dist.broadcast(one, 0, group_src=0),
        lambda: dist.reduce(one, 7),
        lambda: dist.send(one, rank),
        lambda: dist.scatter(one, [one, one], src=1 - rank),
        lambda: dist.scatter(one, None, src=rank),
        lambda: dist.scatter(one, [one, two], src=rank),
        lambda: dist.scatter(one, [one], src=rank),
        lambda: dist.gather(one, [one, one], dst=1 - rank),
        lambda: dist.gather(one, None, dst=rank),
        lambda: dist.gather(one, [one], dst=rank),
        lambda: dist.gather_object(1, None, dst=rank),
        lambda: dist.scatter_object_list([], [1, 2]),
        lambda: dist.all_to_all_single(t.ones(2), t.ones(2), [1], [2]),
        lambda: dist.P2POp(dist.all_reduce, one, 0),
        lambda: dist.batch_isend_irecv([1]),
        lambda: dist.new_group([0, 0]),
        lambda: dist.new_group([0, 1, 2]),
        lambda: dist.new_group([5]),
        lambda: dist.new_group([0], timeout=3),
        lambda: dist.get_rank(3),
        lambda: dist.get_global_rank(dist.group.WORLD, 1),
        lambda: dist.init_process_group("gloo"),
        lambda: dist.all_reduce(one.to(t.complex64), dist.ReduceOp.MAX),
    ]
    return [answer(call) for call in calls]


IN_TWO = (reductions, sharing, objects, messages, works, refusals)
IN_FOUR = (reductions, sharing, groups)


@pytest.fixture(scope="module")
def in_two():
    """What the programs give in two processes; one launch for all of them."""
    return outcomes(2, *IN_TWO)


@pytest.fixture(scope="module")
def in_four():
    """What the programs give in four processes; one launch for all of them."""
    return outcomes(4, *IN_FOUR)


@pytest.mark.parametrize("name", [program.__name__ for program in IN_TWO])
def test_two_processes_do_what_pytorchs_do(name, in_two):
    assert_agree(in_two, name)


@pytest.mark.parametrize("name", [program.__name__ for program in IN_FOUR])
def test_four_processes_do_what_pytorchs_do(name, in_four):
    assert_agree(in_four, name)
