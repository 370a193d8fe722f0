"""Runs ``python`` and ``gradviz`` in processes of their own; tells what these leave."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ENGINE = "--engine", "gradtape", "--no-open"


class Run(Protocol):
    """Runs a program in a folder; gives its exit status, or minus what it died of."""

    __name__: str

    def __call__(
        self, folder: Path, *arguments: str, out: Path, err: Path | None, **more: object
    ) -> int: ...


@dataclass(frozen=True)
class Seen:
    """What a process leaves behind."""

    status: int
    out: str
    err: str
    files: dict[str, str]


def python(
    folder: Path, *arguments: str, out: Path, err: Path, stdin: str = os.devnull
) -> int:
    """Run Python."""
    with open(stdin, "rb") as given, out.open("wb") as stdout, err.open("wb") as stderr:
        command = [sys.executable, *arguments]
        streams = {"stdin": given, "stdout": stdout, "stderr": stderr}
        return subprocess.run(command, cwd=folder, **streams, check=False).returncode


@contextmanager
def forking_gradviz() -> Iterator[Run]:
    """Give a function that runs ``gradviz`` in a fork of a process that has it."""
    command = [sys.executable, Path(__file__).with_name("fork_server.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, stderr=subprocess.DEVNULL) as server:
        assert server.stdout.readline() == b"ready\n"

        def gradviz(
            folder: Path, *arguments: str, out: Path, err: Path | None, **more: object
        ) -> int:
            files = {"folder": str(folder), "out": str(out), "err": err and str(err)}
            request = json.dumps({**files, **more, "arguments": arguments})
            server.stdin.write(request.encode() + b"\n")
            server.stdin.flush()
            return os.waitstatus_to_exitcode(int(server.stdout.readline()))

        yield gradviz
        server.stdin.close()


def seen(tmp_path: Path, text: str, run: Run, *arguments: str, **more: object) -> Seen:
    """Run s.py in an empty folder, always of the same name; return what is left."""
    folder, out, err = (tmp_path / name for name in ("folder", "out", "err"))
    folder.mkdir()
    (folder / "s.py").write_text(textwrap.dedent(text))
    status = run(folder, *arguments, out=out, err=err, **more)
    files = {
        str(each.relative_to(folder)): each.read_text()
        for each in folder.rglob("*")
        if each.is_file() and each.suffix != ".pyc"
    }
    said = [re.sub(r"0x[0-9a-f]+", "0x…", each.read_text()) for each in (out, err)]
    left = Seen(status, *said, files)
    for number, each in enumerate((folder, out, err)):
        each.rename(tmp_path / f"{run.__name__} {number}")
    return left


def without_ours(err: str) -> str:
    """Drop our own lines."""
    lines = err.splitlines(keepends=True)
    return "".join(each for each in lines if not each.startswith("gradviz: "))
