"""Takes from Python what Pyodide lacks: threads, processes, and what hangs on them.

What is listed was looked at in Pyodide 314 (CPython 3.14); run there, this file prints
what of it is there nevertheless. Elsewhere it runs the demo and two programs without.
"""

from __future__ import annotations

import _thread
import importlib
import importlib.util
import json
import os
import signal
import sys
import threading
import time
from types import ModuleType
from typing import Any, NoReturn

MODULES = (
    *("_multiprocessing", "_posixshmem", "curses", "dbm", "grp", "pwd", "readline"),
    *("resource", "syslog", "tkinter"),
)
NAMES: dict[ModuleType, tuple[str, ...]] = {
    _thread: ("get_native_id",),
    threading: ("get_native_id",),
    time: ("thread_time", "thread_time_ns"),
    signal: ("alarm", "pthread_kill", "setitimer"),
    os: (
        *("copy_file_range", "eventfd", "forkpty", "getegid", "geteuid", "getgroups"),
        *("link", "lchown", "memfd_create", "mkfifo", "nice", "openpty", "pidfd_open"),
        *("pipe2", "posix_fallocate", "posix_spawn", "posix_spawnp", "sendfile"),
        *("sched_getaffinity", "sched_setaffinity", "splice"),
    ),
}
AS_THEY_ARE = (
    # Libraries in C know the system that they were built for.
    *("ml_dtypes", "scipy.fft", "scipy.linalg", "scipy.special"),
    "multiprocessing.connection",  # Pyodide's own copy does without what it imports
)
STARTERS = "start_new_thread", "start_joinable_thread"


def remaining() -> list[str]:
    """What is listed here and there nevertheless: none of it in Pyodide."""
    found = [name for name in MODULES if importlib.util.find_spec(name) is not None]
    found += [
        f"{module.__name__}.{name}"
        for module, names in NAMES.items()
        for name in names
        if hasattr(module, name)
    ]
    if _happens(lambda: _thread.start_new_thread(int, ()), RuntimeError):
        found.append("threads")
    if _happens(os.fork, OSError):
        found.append("fork")
    if sys.platform != "emscripten":
        found.append("a platform of another name")
    return found


def _happens(call: Any, error: type[Exception]) -> bool:
    try:
        call()
    except error:
        return False
    return True


def restrict() -> None:
    """Take it from this process, for good."""
    for name in AS_THEY_ARE:
        importlib.import_module(name)
    sys.modules |= dict.fromkeys(MODULES)  # type: ignore[arg-type]
    for module, names in NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for module in (_thread, threading):
        for name in STARTERS:
            for spelled in (name, f"_{name}"):
                if hasattr(module, spelled):
                    setattr(module, spelled, _no_thread)
    os.fork = _no_process
    sys.platform = "emscripten"
    sys.modules.pop("subprocess", None)  # imported anew, it looks what it can do


def _no_thread(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("can't start new thread")


def _no_process() -> NoReturn:
    raise OSError(52, "Function not implemented")


WORKERS = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.arange(8.0))
print(sum(batch.sum().item() for (batch,) in DataLoader(data, num_workers=2)))
weight = torch.ones(1, requires_grad=True)
with torch.profiler.profile() as profile:
    loss = (weight * 2).exp()
loss.add_(1)
loss.sum().backward()
"""
STEPPED = """\
import torch
import gradviz

gradviz.step((torch.ones(1, requires_grad=True) * 2).sum())
"""


def main() -> None:
    """Say what Pyodide has of the list; elsewhere run programs without it."""
    if sys.platform == "emscripten":
        print(json.dumps(remaining()))
        return
    restrict()
    from gradviz.cli import main as command
    from tools import in_browser, playground

    left = remaining()
    status = command(["demo", "--no-open"])
    programs = (playground.PROGRAM, WORKERS, STEPPED)
    came = [json.loads(in_browser.run(each)) for each in programs]
    print()
    print(json.dumps({"left": left, "demo": status, "came": came}))


if __name__ == "__main__":
    main()
