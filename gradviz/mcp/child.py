"""Runs a command in a process of its own, with a limit of time and of words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

_KEPT = 64 * 1024  # bytes of the end of each stream
_GRACE_S = 20.0  # to write what was recorded, once it was told to end

_groups: set[int] = set()
"""The process groups that run: a signal that ends the server ends them first."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a command."""

    status: int
    out: str  # the end of each stream
    err: str
    timed_out: bool = False


async def gradviz(arguments: Sequence[str], folder: Path, limit_s: float) -> Ended:
    """Run ``gradviz ARGUMENTS`` in a folder, and end it after so many seconds.

    It is told to end first, so that what was recorded until then is written; whatever
    it has started ends with it.
    """
    process = await anyio.open_process(
        [sys.executable, "-m", "gradviz", *arguments],
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env=_environment(),
        start_new_session=True,
    )
    out, err = bytearray(), bytearray()
    timed_out = False
    _groups.add(process.pid)
    try:
        async with anyio.create_task_group() as tasks:
            for stream, kept in ((process.stdout, out), (process.stderr, err)):
                if stream is not None:
                    tasks.start_soon(_read, stream, kept)
            timed_out = not await _ended_within(process, limit_s)
            if timed_out:
                process.terminate()
                await _ended_within(process, _GRACE_S)
            _kill(process)  # children of it may hold the streams open
    finally:
        _kill(process)
        with anyio.CancelScope(shield=True):
            await process.aclose()
        _groups.discard(process.pid)
    return Ended(await process.wait(), _words(out), _words(err), timed_out)


def end_all() -> None:
    """Kill whatever runs: the server is about to be gone."""
    for group in list(_groups):
        _kill_group(group)


async def _ended_within(process: Process, limit_s: float) -> bool:
    with anyio.move_on_after(limit_s):
        await process.wait()
        return True
    return False


async def _read(stream: ByteReceiveStream, kept: bytearray) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async for chunk in stream:
            kept += chunk
            del kept[:-_KEPT]


def _kill(process: Process) -> None:
    _kill_group(process.pid)
    with suppress(ProcessLookupError):
        process.kill()


def _kill_group(group: int) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """Return the child's environment: this gradviz, unbuffered, never on a screen."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONUNBUFFERED": "1",
    }


def _words(data: bytearray) -> str:
    return data.decode("utf-8", "replace")
