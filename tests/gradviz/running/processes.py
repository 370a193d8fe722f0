"""Runs ``python`` and ``gradviz`` in processes of their own; tells what these leave."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests import forked

ENGINE = "--engine", "gradtape", "--no-open"
LIMIT_S = 60


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


def gradviz(
    folder: Path, *arguments: str, out: Path, err: Path | None, **more: object
) -> int:
    """Run ``gradviz`` in a fork of a process that has it."""
    request = {
        "arguments": ["-m", "gradviz", *arguments],
        "folder": str(folder),
        "environment": {**os.environ, "PYTHONPATH": forked.PATHS},
        "seconds": LIMIT_S,
        "out": str(out),
        "err": err and str(err),
        **more,
    }
    server = forked.server("gradtape")
    status = server.ask(wait=server.ask(start=request))
    return os.waitstatus_to_exitcode(status)


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
