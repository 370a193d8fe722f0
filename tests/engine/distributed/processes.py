"""Run one program in several processes, under gradtape and under PyTorch."""

from __future__ import annotations

import atexit
import importlib
import multiprocessing
import os
import queue
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import cache
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from ..oracle import assert_close, describe, first_sentence

Program = Callable[[Any, int, int], Any]

USED = "torch", "torch._dynamo", "gradtape", "scipy.linalg.blas"
"""What programs here import, some of it late: with the first optimizer."""

LIMIT_S = 100.0
"""How long a launch may take; what is left of it then is ended."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def launch(program: Callable[..., Any], size: int, *args: Any) -> list[Any]:
    """Call ``program(*args)`` in ``size`` processes; return what each returned.

    RANK and WORLD_SIZE are set as torchrun does. Raises AssertionError with the
    traceback of a process that fails, or that does not end in time. Whatever else runs
    on the machine may take a free port first: then others are tried.
    """
    for _ in range(3):
        try:
            return _launch(program, size, *args)
        except AssertionError as error:
            if "Address already in use" not in str(error):
                raise
    return _launch(program, size, *args)


def _launch(program: Callable[..., Any], size: int, *args: Any) -> list[Any]:
    context = _warm()
    results: Any = context.Queue()
    ports = free_port(), free_port()
    processes: list[BaseProcess] = [
        context.Process(target=_run, args=(program, rank, size, ports, results, args))
        for rank in range(size)
    ]
    for process in processes:
        process.start()
    found: dict[int, Any] = {}
    try:
        while len(found) < size and not any(each[1] for each in found.values()):
            rank, outcome = results.get(timeout=LIMIT_S)
            found[rank] = outcome
    except queue.Empty:
        raise AssertionError(f"{program.__name__} did not end in {LIMIT_S} s") from None
    finally:
        for process in processes:
            process.join(5 if len(found) == size else 0.5)
            if process.is_alive():
                process.kill()
                process.join()
    failures = [f"rank {r}:\n{each[1]}" for r, each in sorted(found.items()) if each[1]]
    assert not failures, "\n".join(failures)
    return [found[rank][0] for rank in range(size)]


@cache
def _warm() -> Any:
    """Return a context whose processes are forked from one that has both libraries."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*USED, __name__])
    before, paths = os.environ.get("PYTHONPATH"), filter(None, sys.path)
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # what it imports is of this tree
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before
    atexit.register(forkserver._forkserver._stop)  # waits for it: its time counts
    return context


def _run(
    program: Callable[..., Any],
    rank: int,
    size: int,
    ports: tuple[int, int],
    results: Any,
    args: tuple[Any, ...],
) -> None:
    signal.alarm(int(LIMIT_S))  # a process that hangs ends, whatever it hangs in
    os.environ.update(
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(ports[0]),
        NEXT_PORT=str(ports[1]),
        RANK=str(rank),
        WORLD_SIZE=str(size),
        LOCAL_RANK=str(rank),
        OMP_NUM_THREADS="1",
    )
    try:
        results.put((rank, (program(*args), "")))
    except BaseException:
        results.put((rank, (None, traceback.format_exc())))


def run_all(programs: dict[str, Program], module: str) -> dict[str, Any]:
    """Run ``program(module, rank, size)`` of each name in one group of all."""
    t = importlib.import_module(module)
    t.distributed.init_process_group("gloo", timeout=timedelta(seconds=20))
    os.environ["MASTER_PORT"] = os.environ["NEXT_PORT"]  # for the next
    try:
        return run_programs(programs, module)
    finally:
        t.distributed.destroy_process_group()


def run_programs(programs: dict[str, Program], module: str) -> dict[str, Any]:
    """Run programs in the group that there is."""
    t = importlib.import_module(module)
    rank, size = t.distributed.get_rank(), t.distributed.get_world_size()
    return {
        name: answer(lambda program=program: program(t, rank, size))
        for name, program in programs.items()
    }


def run_both(programs: dict[str, Program]) -> dict[str, Any]:
    """Run programs under both libraries."""
    return {module: run_all(programs, module) for module in ("gradtape", "torch")}


def outcomes(size: int, *programs: Program) -> dict[str, Any]:
    """Return what programs give in ``size`` processes, by their names and library."""
    pytest.importorskip("torch")
    by_name = {each.__name__: each for each in programs}
    found = launch(run_both, size, by_name)
    return {
        name: {t: [each[t][name] for each in found] for t in ("gradtape", "torch")}
        for name in by_name
    }


def assert_agree(found: dict[str, Any], name: str, rtol: float = 1e-6) -> None:
    """Assert that a program gave the same under both libraries, in every process."""
    ours, theirs = found[name]["gradtape"], found[name]["torch"]
    assert_close(ours, theirs, rtol, name)


def answer(function: Callable[[], Any]) -> Any:
    """Return, as plain data, what a call returns, or the error that it raises."""
    try:
        return describe(function())
    except Exception as error:
        return type(error).__name__, first_sentence(error)
