"""Processes that mpirun starts: MPI gives what TCP gives."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from gradtape import distributed as dist
from gradtape.distributed import _mpi

from ..oracle import assert_close
from . import test_distributed_collectives as collectives
from .processes import LIMIT_S, launch, run_all

ROOT = Path(__file__).resolve().parents[3]
MPIRUN = shutil.which("mpirun", path=str(Path(sys.executable).parent))
PROGRAMS = {
    program.__name__: program
    for program in (
        *(collectives.reductions, collectives.sharing, collectives.objects),
        *(collectives.messages, collectives.works),
    )
}

needs_mpi = pytest.mark.skipif(
    MPIRUN is None or not dist.is_mpi_available(), reason="needs mpi4py and its mpirun"
)


def mpirun(size, script, *args):
    """Run a script in processes that know nothing but what mpirun tells them."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    }
    env["PYTHONPATH"] = f"{ROOT}{os.pathsep}{ROOT / 'engine'}"
    assert MPIRUN is not None
    return subprocess.run(
        [MPIRUN, "-n", str(size), sys.executable, str(script), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env=env,
        cwd=ROOT,
        check=False,
    )


RUN_ALL = """
import pickle, sys
from pathlib import Path
from tests.engine.distributed.processes import run_programs
from tests.engine.distributed.test_distributed_mpi import PROGRAMS
import gradtape.distributed as dist
dist.init_process_group("gloo")
found = run_programs(PROGRAMS, "gradtape")
found["engine"] = type(dist.group.WORLD.carrier().engine).__name__
Path(sys.argv[1], str(dist.get_rank())).write_bytes(pickle.dumps(found))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def by_mpi(tmp_path_factory):
    """What the programs of the collectives give where mpirun starts two processes."""
    folder = tmp_path_factory.mktemp("mpi")
    script = folder / "script.py"
    script.write_text(RUN_ALL)
    done = mpirun(2, script, folder)
    assert done.returncode == 0, done.stderr
    return [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(2)]


@pytest.fixture(scope="module")
def by_tcp():
    """What they give where the processes meet by TCP."""
    return launch(run_all, 2, PROGRAMS, "gradtape")


@needs_mpi
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_mpi_gives_what_tcp_gives(name, by_mpi, by_tcp):
    for ours, theirs in zip(by_mpi, by_tcp, strict=True):
        assert ours["engine"] == "MpiEngine"
        assert_close(ours[name], theirs[name], 1e-6, name)


FAILING = """
import sys, time
import gradtape, gradtape.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 1:
    raise ValueError("out of data")
dist.all_reduce(gradtape.ones(1))
"""


@needs_mpi
def test_an_error_in_one_process_ends_all(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(FAILING)
    done = mpirun(2, script)
    # mpirun may end before what the processes wrote has passed through it.
    assert done.returncode != 0


GROUPS = """
import sys
from datetime import timedelta
from pathlib import Path
import gradtape as t, gradtape.distributed as dist
dist.init_process_group("mpi")
rank = dist.get_rank()
groups = [dist.new_group([0, 1]), dist.new_group([2])]
mine = groups[rank // 2]
x = t.ones(1) * (rank + 1)
dist.all_reduce(x, group=mine)
short = dist.new_group(timeout=timedelta(milliseconds=200))
if rank == 0:
    try:
        dist.recv(t.ones(1), 1, group=short)
    except dist.DistBackendError as error:
        (Path(sys.argv[1]) / "timeout").write_text(str(error)[:64])
dist.barrier()
found = rank, x.item(), dist.get_world_size(mine), dist.get_backend()
(Path(sys.argv[1]) / str(rank)).write_text(repr(found))
"""


@needs_mpi
def test_groups_and_timeouts_work_under_mpi(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(GROUPS)
    done = mpirun(3, script, tmp_path)
    assert done.returncode == 0, done.stderr
    # Files, since what processes print through mpirun may meet within one line.
    assert [(tmp_path / str(rank)).read_text() for rank in range(3)] == [
        "(0, 3.0, 2, 'mpi')",
        "(1, 3.0, 2, 'mpi')",
        "(2, 3.0, 1, 'mpi')",
    ]
    assert (tmp_path / "timeout").read_text() == (
        "Timed out waiting 200ms for recv operation to complete: rank 0 h"
    )


def test_without_mpi4py_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(RuntimeError, match="doesn't have MPI built in") as caught:
        dist.init_process_group("mpi")
    assert "pip install mpi4py mpich" in caught.value.__notes__[0]


def test_another_mpi_than_mpiruns_is_refused(monkeypatch):
    monkeypatch.delenv("PMI_SIZE", raising=False)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert _mpi.started_by_mpirun()
    with pytest.raises(
        RuntimeError, match="mpirun started 4 processes, but mpi4py sees"
    ):
        _mpi._check_size(1)
    _mpi._check_size(4)


@pytest.mark.usefixtures("_no_rank")
def test_variables_of_torchrun_come_before_mpiruns(monkeypatch):
    """A launcher of MPI may start torchrun, which starts the processes."""
    monkeypatch.setenv("PMI_SIZE", "1")
    store = dist.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        engine = dist.group.WORLD.carrier().engine
        assert type(engine).__name__ == "MeshEngine"
        assert dist.group.WORLD.timeout == timedelta(minutes=30)
    finally:
        dist.destroy_process_group()


@pytest.fixture
def _no_rank(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
