"""The parts of a watch: its schedule, what it keeps, what it leaves behind."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

import gradviz
from gradviz import ir
from gradviz.watching.history import FIELDS, PICTURES, History, Row
from gradviz.watching.sampling import SamplingSchedule
from tests import forked
from tests.gradviz.watching import flows


def paced(step_ns: int, look_ns: int, steps: int, overhead: float = 0.03) -> list[int]:
    """Return the steps that are looked at when both always take as long."""
    schedule, looked = SamplingSchedule(overhead=overhead), list[int]()
    for number in range(steps):
        schedule.stepped(step_ns)
        if schedule.due(number):
            looked.append(number)
            schedule.looked(look_ns)
    return looked


@pytest.mark.parametrize("look_ns", [100_000, 3_000_000, 80_000_000])
def test_looks_take_the_promised_share_at_most(look_ns: int):
    looked = paced(1_000_000, look_ns, 100_000)
    spent = len(looked) * look_ns - 50_000_000 - look_ns  # granted at the start
    assert spent <= 0.03 * 100_000 * 1_000_000
    assert len(looked) > 10, "and the share is used"


def test_processes_of_different_speed_look_at_the_same_steps():
    slow, fast = paced(1_000_000, 3_000_000, 9_000), paced(300_000, 3_000_000, 9_000)
    late = [step for step in fast if step > 1_000]
    assert set(late) <= set(slow)


def test_a_fixed_pace_is_kept_whatever_it_costs():
    schedule = SamplingSchedule(every=7)
    schedule.looked(10**12)
    schedule.stepped(1)
    assert [number for number in range(20) if schedule.due(number)] == [0, 7, 14]


def add(history: History, number: int, **options: object) -> None:
    values = np.full((2, len(FIELDS)), float(number))
    history.add(Row(ir.FlowStep(number), values, **options))  # type: ignore[arg-type]


def test_a_history_is_bounded_and_dense_at_its_end():
    history = History(rows=64)
    for number in range(10_000):
        add(history, number, marked=number % 3 == 0)
        assert len(history.rows) <= 64
    numbers = [row.step.number for row in history.rows]
    assert numbers[0] == 0
    assert numbers == sorted(set(numbers))
    gaps = np.diff(numbers)
    assert gaps.max() < 1_500, "no part of the training is missing"
    assert gaps[:8].mean() > 4 * gaps[-16:].mean()


def test_many_layers_leave_room_for_fewer_steps():
    history = History(points=1_000)
    for number in range(100):
        values = np.zeros((100, len(FIELDS)))
        history.add(Row(ir.FlowStep(number), values))
    assert len(history.rows) <= 10


def test_histograms_are_kept_of_a_few_steps_spread_out():
    history = History()
    for number in range(200):
        add(history, number, statistics={0: flows.STATISTICS})
    drawn = [row.step.number for row in history.rows if row.statistics]
    assert len(drawn) == PICTURES
    assert drawn[0] == 0
    assert drawn[-1] == 199
    _, points, statistics = history.tables()
    assert len(statistics) == PICTURES
    assert sorted({point.gradient for point in points} - {None}) == list(range(6))


SCRIPT = """
import sys
import gradtape as torch
import gradviz

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
gradviz.watch(net, optimizer, every=1{page})
for step in range(5):
    net(torch.ones(3, 2)).pow(2).mean().backward()
    optimizer.step()
{ending}
"""


def run(
    folder: Path, ending: str = "", page: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    code = SCRIPT.format(ending=ending, page=page)
    return forked.run("-c", code, cwd=folder, environment=environment)


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), ("raise KeyboardInterrupt", 1), ("raise ValueError", 1)],
    ids=["end", "interrupt", "error"],
)
def test_a_page_is_left_behind_however_python_ends(
    tmp_path: Path, ending: str, status: int
):
    done = run(tmp_path, ending, ', page="seen.json"')
    assert (done.returncode != 0) == bool(status)
    snapshot = gradviz.load(tmp_path / "seen.json")
    assert [step.number for step in snapshot.flow_steps] == [0, 1, 2, 3, 4]
    words = f"gradviz: 5 looks at 5 steps: {tmp_path / 'seen.json'}"
    assert words in done.stderr.splitlines()
    assert ("Traceback" in done.stderr) == bool(status)


def test_a_forked_child_leaves_the_page_to_its_parent(tmp_path: Path):
    ending = "import os\nif os.fork() == 0: sys.exit()\nos.wait()"
    done = run(tmp_path, ending, ', page="seen.json"')
    assert done.stderr.count("looks at 5 steps") == 1


def test_a_rank_writes_its_own_file(tmp_path: Path):
    run(tmp_path, "", "", RANK="1", WORLD_SIZE="2")
    snapshot = gradviz.load(tmp_path / "gradviz-watch-rank1.json")
    assert {step.rank for step in snapshot.flow_steps} == {1}
    assert snapshot.processes == (ir.Process(1, size=2, steps=5),)
    assert snapshot.events == ()


def test_a_rank_that_raised_keeps_its_error_for_the_merge(tmp_path: Path):
    ending = "raise ValueError('bad batch 7')"
    done = run(tmp_path, ending, "", RANK="1", WORLD_SIZE="2")
    assert "bad batch 7" in done.stderr
    snapshot = gradviz.load(tmp_path / "gradviz-watch-rank1.json")
    assert [each.text for each in snapshot.events] == ["ValueError: bad batch 7"]


def test_no_page_means_no_file(tmp_path: Path):
    done = run(tmp_path, "", ", page=None")
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_hopeless_page_is_refused_before_the_training():
    net = torch.nn.Linear(1, 1)
    with pytest.raises(gradviz.ExportError, match="no folder /nowhere/at"):
        gradviz.watch(net, page="/nowhere/at/all.html")


def test_a_page_lost_on_the_way_is_kept_elsewhere(tmp_path: Path):
    net = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    said: list[str] = []
    folder = tmp_path / "runs"
    folder.mkdir()
    with gradviz.watch(net, optimizer, page=folder / "a.json", say=said.append) as seen:
        net(torch.ones(1, 1)).sum().backward()
        optimizer.step()
        folder.rmdir()
    assert "there is no folder" in said[0]
    assert seen.path is not None
    assert said[1] == f"1 look at 1 step: {seen.path}"
    assert gradviz.load(seen.path) == seen.snapshot()


def test_the_block_that_raises_still_writes(tmp_path: Path):
    net = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    said: list[str] = []
    page = tmp_path / "a.json"
    seen = gradviz.watch(net, optimizer, page=page, say=said.append)
    with suppress(KeyboardInterrupt), seen:
        net(torch.ones(1, 1)).sum().backward()
        optimizer.step()
        raise KeyboardInterrupt
    assert gradviz.load(page) == seen.snapshot()
    assert said == [f"1 look at 1 step: {page}"]


# ---- what only PyTorch has ----------------------------------------------------------


def test_scaled_gradients_are_read_unscaled_and_skipped_steps_not_at_all():
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    with gradviz.watch(net, optimizer, every=1, page=None) as seen:
        for step in range(4):
            optimizer.zero_grad()
            loss = net(torch.ones(2, 4)).sum() * (float("inf") if step == 1 else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert seen.steps == 3, "the step with Inf was skipped"
    assert seen.findings == ()
    assert seen.history.norms[0].tolist() == pytest.approx([4.0, 4.0, 4.0])


def test_half_precision_and_sparse_gradients_have_norms():
    net = torch.nn.Module()
    net.small = torch.nn.Parameter(torch.full((1000,), 100.0, dtype=torch.float16))
    net.table = torch.nn.Embedding(10, 3, sparse=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    with gradviz.watch(net, optimizer, every=1, page=None) as seen:
        loss = net.table(torch.tensor([1, 1, 2])).sum()
        loss = loss + (net.small.float() * 3e4).sum()
        loss.backward()
        optimizer.step()
    flow = seen.history
    assert [layer.name for layer in flow.layers] == ["small", "table.weight"]
    assert flow.norms[:, 0] == pytest.approx([3e4 * 1000**0.5, 15**0.5], rel=1e-3)


def test_large_parameters_are_estimated_from_some_elements():
    net = torch.nn.Linear(1000, 300, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    with gradviz.watch(net, optimizer, every=1, page=None) as seen:
        before = net.weight.detach().clone()
        net(torch.randn(8, 1000)).pow(2).mean().backward()
        optimizer.step()
    (point,) = seen.snapshot().flow
    assert point.weight_norm == pytest.approx(float(before.norm()), rel=0.05)
    change = float((net.weight.detach() - before).norm())
    assert point.update_norm == pytest.approx(change, rel=0.05)


def test_a_recording_does_not_see_the_watch():
    def record(watch: bool) -> int:
        torch.manual_seed(0)
        net = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        seen = gradviz.watch(net, optimizer, every=1, page=None) if watch else None
        with gradviz.record() as rec:
            for _ in range(2):
                net(torch.ones(3, 2)).sum().backward()
                optimizer.step()
        if seen is not None:
            seen.close()
            assert seen.steps == 2
        return len(rec.snapshot().nodes)

    assert record(True) == record(False)
