"""Runs Python programs for the price of a fork, in a process that imported theirs.

``serve(engine)`` reads one request a line, a JSON object:

* ``{"start": {…}}`` forks a process that does what ``python ARGUMENTS`` does, with the
  folder, the environment and the files for its streams, null being a pipe that nobody
  reads; "limits" are those of `resource`. The answer is its id.
* ``{"wait": ID}`` is answered with its wait status; what it left running is ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import runpy
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

USED = (
    "gradviz.cli",
    "gradviz.diagnosis.diagnose",
    "gradviz.export",
    "gradviz.program.log",
    "gradviz.render.html",
    "gradviz.reporting.forms",
    "gradviz.running.script",
)
"""What most programs here import sooner or later."""

USED_ON_PYTORCH = (
    "torch._dynamo",  # by the first optimizer: 1 s
    "torch.distributed.fsdp",
    "torch.nn.parallel",
    "torch.utils.checkpoint",
    "gradviz._capture.adapters.pytorch.log",
    "gradviz._capture.adapters.pytorch.producer",
    "gradviz._capture.adapters.pytorch.watch",
    "gradviz._capture.session",
    "gradviz._capture.why",
)


def serve(engine: str) -> None:
    """Answer requests until there are no more; return in each forked process."""
    for name in USED:
        importlib.import_module(name)
    importlib.import_module("gradviz.diagnosis.rules").all_rules()
    if engine == "torch":
        for name in USED_ON_PYTORCH:  # not run: threads do not survive a fork
            importlib.import_module(name)
    else:
        _run_once()
    gc.collect()
    gc.freeze()  # or every child walks all of it, and copies it
    print("ready", flush=True)
    for request in _requests():
        if "wait" in request:
            answer = os.waitpid(request["wait"], 0)[1]
            with suppress(ProcessLookupError):
                os.killpg(request["wait"], signal.SIGKILL)
        else:
            answer = os.fork()
            if not answer:
                _become(request["start"])
                return
        print(answer, flush=True)
    os._exit(0)


TRAINING = """\
import gradtape
w = gradtape.ones(2, requires_grad=True)
w.sum().backward()
gradtape.optim.SGD([w], lr=0.1).step()
"""


def _run_once() -> None:
    """Import what comes late."""
    from gradviz.cli import main

    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder, "warm.py")
        warm.write_text(TRAINING)
        main(["run", str(warm), "--json", f"{folder}/x.json", "--no-open"])


def _requests() -> Iterator[Any]:
    while True:
        line = b""
        while not line.endswith(b"\n"):  # reads nothing ahead: children share the pipe
            line += (byte := os.read(0, 1))
            if not byte:
                return
        yield json.loads(line)


def _become(request: dict[str, Any]) -> None:
    """Be the program that was asked for, to its end."""
    os.setpgid(0, 0)
    signal.alarm(request["seconds"])  # one that hangs dies of it
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, name in enumerate(("stdin", "out", "err")):
        file = request.get(name, os.devnull)
        if file is None:
            unread, opened = os.pipe()
            os.close(unread)
        else:
            opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    for name, limit in request.get("limits", {}).items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    _run_python(*request["arguments"])


def _run_python(first: str, *rest: str) -> None:
    main = sys.modules["__main__"].__dict__
    if first == "-m":
        sys.argv, sys.path[0] = list(rest), os.getcwd()
        runpy._run_module_as_main(rest[0])
    elif first == "-c":
        sys.argv, sys.path[0] = [first, *rest[1:]], ""
        exec(compile(rest[0], "<string>", "exec", dont_inherit=True), main)
    else:
        sys.argv, sys.path[0] = [first, *rest], os.path.dirname(os.path.abspath(first))
        main["__file__"] = first
        exec(compile(Path(first).read_bytes(), first, "exec", dont_inherit=True), main)
