"""Runs programs as a user would who has neither this checkout nor Node."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def finished(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program without Node on PATH; return how it ended and what it printed."""
    python = Path(sys.executable).parent
    # The shell is all that tools may need; no folder here holds a Node.
    environment = {"PATH": str(python), "HOME": str(cwd), "LANG": "C.UTF-8"}
    environment["BROWSER"] = "true"  # pages open, but not before whoever tests
    kept = ("CERT", "PIP_", "OMP_")
    environment |= {n: v for n, v in os.environ.items() if any(k in n for k in kept)}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def run(*command: object, cwd: Path) -> str:
    """Run a program that must succeed; return what it printed."""
    done = finished(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
