"""Processes that fail, come late, or do something else: errors, and nobody hangs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

import gradtape
from gradtape import distributed as dist
from gradtape.distributed import run
from gradtape.distributed.elastic.multiprocessing.errors import record

from .processes import LIMIT_S, launch, run_all

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

ENGINE = Path(gradtape.__file__).parents[1]


def refused(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "returned", ""


# ---- something else than the others -------------------------------------------------


def out_of_step(t, rank, size):
    d = t.distributed
    one, two = t.ones(1), t.ones(2)
    return [
        refused(lambda: d.all_reduce(one) if rank else d.broadcast(one, 1)),
        refused(lambda: d.all_reduce(two if rank else one)),
        refused(lambda: d.all_reduce(one.double() if rank else one)),
        refused(lambda: d.send(two, 0) if rank else d.recv(one, 1)),
        refused(lambda: d.barrier()),
    ]


def late(t, rank, size):
    d = t.distributed
    short = d.new_group(timeout=timedelta(milliseconds=200))
    seen = []
    if rank == 0:
        seen = [
            refused(lambda: d.all_reduce(t.ones(1), group=short)),
            refused(lambda: d.recv(t.ones(1), 1, group=short)),
            refused(lambda: d.barrier(timeout=timedelta(milliseconds=200))),
            refused(d.all_reduce(t.ones(1), group=short, async_op=True).wait),
        ]
    return seen


def roll_call(t, rank, size):
    d = t.distributed
    d.monitored_barrier()
    if rank:
        return None
    limit = timedelta(milliseconds=200)
    return refused(lambda: d.monitored_barrier(timeout=limit))


def sparse(t, rank, size):
    return refused(lambda: t.distributed.all_reduce(t.eye(2).to_sparse()))


@pytest.fixture(scope="module")
def faults():
    """What goes wrong in two processes; one launch for all of it."""
    programs = (out_of_step, sparse, late, roll_call)
    by_name = {each.__name__: each for each in programs}
    return launch(run_all, 2, by_name, "gradtape")


def test_collectives_that_differ_are_named(faults):
    here, there = (each["out_of_step"] for each in faults)
    assert "rank 1 runs all_reduce of float32[1] while rank 0" in here[0][1]
    assert here[0][0] == "DistBackendError"
    assert "rank 0 runs broadcast of float32[1] while rank 1 runs all" in there[0][1]
    assert (
        "all_reduce of float32[2] while rank 0 runs all_reduce of float32[1]"
        in (here[1][1])
    )
    assert (
        "all_reduce of float64[1] while rank 0 runs all_reduce of float32"
        in (here[2][1])
    )
    assert "receives into 4 bytes, but rank 1 sent 8" in here[3][1]
    assert there[3] == ["returned", ""]
    assert here[4] == there[4] == ["returned", ""]  # the group goes on


def test_who_waits_in_vain_says_for_whom(faults):
    found = faults[0]["late"]
    names = ("all_reduce", "recv", "barrier", "all_reduce")
    for (kind, sentence), name in zip(found, names, strict=True):
        assert kind == "DistBackendError"
        start = f"Timed out waiting 200ms for {name} operation to complete"
        assert sentence.startswith(f"{start}: rank 0 heard nothing from rank 1.")


def test_a_monitored_barrier_names_who_is_missing(faults):
    _, sentence = faults[0]["roll_call"]
    assert "ranks 1 failed to pass monitoredBarrier in 200 ms" in sentence


def test_sparse_tensors_are_refused(faults):
    assert faults[0]["sparse"] == [
        "RuntimeError",
        "collectives take dense tensors; use .to_dense()",
    ]


# ---- processes that are gone --------------------------------------------------------


def dying(how):
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    x = gradtape.ones(1)
    dist.all_reduce(x)
    rank = dist.get_rank()
    if rank == 2:
        if how == "leaving":
            dist.destroy_process_group()
        return time.monotonic(), None
    began = dist.all_reduce(gradtape.ones(1), async_op=True)
    found = [refused(lambda: dist.broadcast(x, 2)), refused(began.wait)]
    return time.monotonic(), found


@pytest.mark.parametrize("how", ["ending", "leaving"])
def test_others_notice_who_is_gone(how):
    found = launch(dying, 3, how)
    for rank, (ended, seen) in enumerate(found[:2]):
        for (kind, sentence), name in zip(
            seen, ("broadcast", "all_reduce"), strict=True
        ):
            assert kind == "DistBackendError"
            # One of the two that are left may be gone before the other hears of it.
            assert sentence.startswith("Connection closed by peer: rank ")
            assert sentence.endswith(f"while rank {rank} waited for it in {name}.")
        assert ended - found[2][0] < LIMIT_S / 2


# ---- launching ----------------------------------------------------------------------

SCRIPT = """
import json, os, sys
import gradtape.distributed as dist
dist.init_process_group()
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK")
seen = [None] * dist.get_world_size()
dist.all_gather_object(seen, {name: int(os.environ[name]) for name in names})
if dist.get_rank() == 0:
    print(json.dumps([seen, sys.argv[1:], dist.is_torchelastic_launched()]))
if "fail" in sys.argv:
    if dist.get_rank() == 1:
        sys.exit(7)
    dist.recv(__import__("gradtape").ones(1), 1)
dist.destroy_process_group()
"""


def started(tmp_path, *args, module="run"):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", f"gradtape.distributed.{module}"]
    env = os.environ | {"PYTHONPATH": str(ENGINE)}
    return subprocess.run(
        [*command, "--nproc-per-node", "2", str(script), *args],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env=env,
        check=False,
    )


def test_the_launcher_tells_each_process_who_it_is(tmp_path):
    done = started(tmp_path, "--rate", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        '[[{"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, '
        '"GROUP_RANK": 0}, {"RANK": 1, "LOCAL_RANK": 1, "WORLD_SIZE": 2, '
        '"LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0}], ["--rate", "2"], true]'
    )


def test_the_launcher_hands_a_failure_on(tmp_path):
    done = started(tmp_path, "fail")
    assert done.returncode in (7, 1), done.stderr  # 1: rank 0, which lost its peer
    assert "the others were ended" in done.stderr


def test_the_older_launcher_passes_the_local_rank(tmp_path):
    done = started(tmp_path, module="launch")
    assert '["--local-rank=0"]' in done.stdout, done.stderr


def test_the_launcher_reads_torchruns_options():
    line = "--nproc_per_node=3 --nnodes 2 --node-rank=1 --master-addr me"
    args = run.parse_args(f"{line} --master_port 12 -m pack.train --lr 1".split())
    assert (args.nproc_per_node, args.nnodes, args.node_rank) == ("3", 2, 1)
    assert (args.master_addr, args.master_port, args.module) == ("me", 12, True)
    assert (args.training_script, args.training_script_args) == (
        "pack.train",
        ["--lr", "1"],
    )


@pytest.mark.parametrize("given", ["0", "many", "-1"])
def test_the_launcher_refuses_what_is_no_number_of_processes(given):
    with pytest.raises(ValueError, match=f"nproc_per_node value: {given}"):
        run.main([f"--nproc-per-node={given}", "script.py"])


def test_recorded_errors_are_left_where_torchrun_looks(tmp_path, monkeypatch):
    file = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(file))

    @record
    def main(text):
        raise ValueError(text)

    with pytest.raises(ValueError, match="out of data"):
        main("out of data")
    message = json.loads(file.read_text())["message"]
    assert message["message"] == "ValueError: out of data"
    assert "in main" in message["extraInfo"]["py_callstack"]


def test_ending_the_launcher_ends_its_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    command = [sys.executable, "-m", "gradtape.distributed.run", str(script)]
    env = os.environ | {"PYTHONPATH": str(ENGINE)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=env, text=True
    ) as launcher:
        assert launcher.stdout is not None
        child = int(launcher.stdout.readline())
        launcher.terminate()
        assert launcher.wait(LIMIT_S) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
