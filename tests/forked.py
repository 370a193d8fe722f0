"""Runs Python programs in processes that are forked from one which is warm.

What a program sees of a fresh process that a fork is not: that nothing is imported yet.
Tests of that start Python themselves, as do those of what only a launcher does.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.imports import ROOT

LIMIT_S = 300

PATHS = os.pathsep.join((str(ROOT), str(ROOT / "engine")))


class Server:
    """A process that has imported gradviz and an engine, and forks."""

    def __init__(self, engine: str) -> None:
        code = f"from tests.fork_server import serve; serve({engine!r})"
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n", f"no server for {engine}"

    def ask(self, **request: Any) -> int:
        """Send a request; return the answer."""
        streams = self._process.stdin, self._process.stdout
        assert streams[0] is not None
        assert streams[1] is not None
        streams[0].write(json.dumps(request).encode() + b"\n")
        streams[0].flush()
        return int(streams[1].readline())

    def close(self) -> None:
        """End the process, and wait for it: its time counts."""
        self._process.communicate()


@cache
def server(engine: str) -> Server:
    """Return the server of an engine, of which each process of tests has one."""
    if not hasattr(os, "fork"):
        pytest.skip("processes are forked")
    made = Server(engine)
    atexit.register(made.close)
    return made


@dataclass(frozen=True)
class Process:
    """A program that runs; its streams go to files in a folder of its own."""

    server: Server
    number: int
    streams: tempfile.TemporaryDirectory[str]

    def wait(self) -> subprocess.CompletedProcess[str]:
        """Return what became of it, once it has ended."""
        status = os.waitstatus_to_exitcode(self.server.ask(wait=self.number))
        with self.streams as folder:
            out, err = ((Path(folder) / n).read_text("utf-8") for n in ("out", "err"))
        return subprocess.CompletedProcess((), status, out, err)


def start(
    *arguments: object,
    cwd: Path,
    engine: str = "gradtape",
    environment: Mapping[str, str] | None = None,
) -> Process:
    """Start what ``python ARGUMENTS`` would, where an engine is imported already."""
    streams = tempfile.TemporaryDirectory(prefix="gradviz-forked-")
    known = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
    request = {
        "arguments": [str(each) for each in arguments],
        "folder": str(cwd),
        "environment": {**known, **(environment or {})},
        "seconds": LIMIT_S,
        "out": f"{streams.name}/out",
        "err": f"{streams.name}/err",
    }
    forking = server(engine)
    return Process(forking, forking.ask(start=request), streams)


def run(
    *arguments: object,
    cwd: Path,
    engine: str = "gradtape",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run what :func:`start` starts to its end."""
    return start(*arguments, cwd=cwd, engine=engine, environment=environment).wait()
