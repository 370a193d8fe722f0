"""Start a program in several processes: ``python -m gradtape.distributed.run``.

As torchrun, it tells each process its rank and where they meet, and ends them all when
one of them fails.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from types import FrameType
from typing import Any, NamedTuple

from .. import cuda

__all__ = ["main", "parse_args", "run"]

_DEFAULT_PORT = 29500
_POLL_S = 0.05
_PATIENCE_S = 10.0
"""How long processes that were told to end may take before they are killed."""


class _Failure(NamedTuple):
    rank: int
    pid: int
    code: int  # as a shell tells it: 128 and the number of a signal


def parse_args(args: Sequence[str] | None = None) -> argparse.Namespace:
    """Read a command line; what follows the script is the script's."""
    parser = argparse.ArgumentParser(
        prog="python -m gradtape.distributed.run",
        description="Start a program in several processes that train together.",
    )

    def add(name: str, help: str, **options: Any) -> None:
        both = {f"--{name}", f"--{name.replace('-', '_')}"}
        parser.add_argument(*sorted(both), help=help, **options)

    add("nproc-per-node", "how many processes here: a number, cpu, gpu or auto")
    add("nnodes", "how many machines take part", type=int, default=1)
    add("node-rank", "which of the machines this is", type=int, default=0)
    add("master-addr", "the address of machine 0", default="127.0.0.1")
    add("master-port", "a free port of machine 0; alone, one is found", type=int)
    add("rdzv-endpoint", "address:port of machine 0, instead of the two above")
    add("rdzv-id", "a name for the run", default="none")
    add("rdzv-backend", "accepted as torchrun has it; all meet at one address")
    add("max-restarts", "accepted as torchrun has it; nothing is restarted", type=int)
    add("standalone", "one machine, which is the default", action="store_true")
    add("no-python", "the program is no Python script", action="store_true")
    parser.add_argument("-m", "--module", action="store_true", help="run a module")
    parser.add_argument("training_script", help="the program, or module")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser.parse_args(args)


def run(args: argparse.Namespace, pass_local_rank: bool = False) -> int:
    """Start the processes, and wait; return the exit code of the first that fails.

    With ``pass_local_rank`` the program gets an argument ``--local-rank=…``, too.
    """
    count = _count(args.nproc_per_node)
    common = _common_variables(args, count)
    processes: list[subprocess.Popen[bytes]] = []
    with _Signals():
        try:
            for local in range(count):
                own = _own_variables(args.node_rank * count + local, local)
                command = _command(args, local if pass_local_rank else None)
                env = os.environ | common | own
                processes.append(subprocess.Popen(command, env=env))
            failure = _wait(processes, args.node_rank * count)
        finally:
            _end(processes)
    if failure is None:
        return 0
    print(
        f"gradtape.distributed.run: the process of rank {failure.rank} "
        f"(pid {failure.pid}) ended with exit code {failure.code}; "
        "the others were ended",
        file=sys.stderr,
    )
    return failure.code


def _count(given: str | None) -> int:
    """Return the number of processes that ``--nproc-per-node`` asks for."""
    name = "1" if given is None else given.lower()
    gpus = cuda.device_count() if name in ("gpu", "auto") else 0
    if name == "gpu" and not gpus:
        raise ValueError("Cuda is not available.")
    if name in ("cpu", "gpu", "auto"):
        return gpus or os.cpu_count() or 1
    try:
        count = int(name)
    except ValueError:
        count = 0
    if count < 1:
        raise ValueError(f"Unsupported nproc_per_node value: {given}")
    return count


def _meeting_point(args: argparse.Namespace) -> tuple[str, int]:
    if args.rdzv_endpoint:
        address, _, port = args.rdzv_endpoint.rpartition(":")
        if address and int(port):
            return address, int(port)
    if args.master_port is not None:
        return args.master_addr, args.master_port
    if args.nnodes > 1:
        return args.master_addr, _DEFAULT_PORT
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        return args.master_addr, int(found.getsockname()[1])


def _common_variables(args: argparse.Namespace, count: int) -> dict[str, str]:
    address, port = _meeting_point(args)
    found = {
        "MASTER_ADDR": address,
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(count * args.nnodes),
        "LOCAL_WORLD_SIZE": str(count),
        "GROUP_RANK": str(args.node_rank),
        "GROUP_WORLD_SIZE": str(args.nnodes),
        "ROLE_WORLD_SIZE": str(count * args.nnodes),
        "TORCHELASTIC_RUN_ID": args.rdzv_id,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
    }
    if count > 1:  # else each would take all cores
        found["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
    return found


def _own_variables(rank: int, local: int) -> dict[str, str]:
    return {"RANK": str(rank), "ROLE_RANK": str(rank), "LOCAL_RANK": str(local)}


def _command(args: argparse.Namespace, local: int | None) -> list[str]:
    start = [] if args.no_python else [sys.executable, "-u"]
    module = ["-m"] if args.module else []
    more = [] if local is None else [f"--local-rank={local}"]
    return [*start, *module, args.training_script, *more, *args.training_script_args]


def _wait(
    processes: Sequence[subprocess.Popen[bytes]], first_rank: int
) -> _Failure | None:
    """Return the first failure; None when all have ended well."""
    while True:
        codes = [process.poll() for process in processes]
        for i, code in enumerate(codes):
            if code:
                shown = 128 - code if code < 0 else code
                return _Failure(first_rank + i, processes[i].pid, shown)
        if None not in codes:
            return None
        time.sleep(_POLL_S)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    end = time.monotonic() + _PATIENCE_S
    for process in processes:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class _Signals:
    """Lets signals that end a program raise, so that it ends its processes first."""

    _numbers = (signal.SIGTERM, signal.SIGINT)

    def __enter__(self) -> None:
        self._before = {each: signal.signal(each, _exit) for each in self._numbers}

    def __exit__(self, *error: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line, and exit with its code where that is not 0."""
    code = run(parse_args(args))
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
