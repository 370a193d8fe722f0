"""Prepare ``.venv`` for ``make demo`` or ``make test``; do nothing when it is ready.

Run by the system's Python, hence standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tools import frontend

ROOT = frontend.ROOT
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

# Wheels without CUDA: a tenth of the size, and all that the tests need.
_TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
_BUILD_TOOLS = ["hatchling>=1.27", "hatch-fancy-pypi-readme>=24.1", "editables>=0.5"]
_EXTRAS = {"demo": "demo", "test": "dev"}
_DESCRIPTIONS = (
    *("pyproject.toml", "engine/pyproject.toml"),
    *("hatch_build.py", "tools/bootstrap.py"),
)


class BootstrapError(RuntimeError):
    """A step of the preparation failed; the text says which and what to do."""


def prepare(profile: str) -> None:
    """Bring ``.venv`` and the front end up to date for one of the two profiles."""
    stamp = VENV / f".gradviz-{profile}"
    digest = _digest()
    ready = stamp.is_file() and stamp.read_text() == digest and frontend.is_fresh()
    if ready and (profile == "demo" or frontend.modules_match()):
        return
    began = time.monotonic()
    _make_venv()
    _install(_BUILD_TOOLS + _node_requirement(), "the build tools")
    _say("Building the front end")
    extra = ["--with-tests"] if profile == "test" else []
    _run([PYTHON, "-m", "tools.frontend", *extra], "building the front end")
    # Together, so that the debugger gets the engine beside it and asks PyPI for none.
    project = ["--editable=./engine", f"--editable=.[{_EXTRAS[profile]}]"]
    project += ["--no-build-isolation"]
    if profile == "test":
        project += _torch_index()
        _install(project, "gradviz and what its tests need (some minutes at first)")
    else:
        _install(project, "gradviz")
    if profile == "test":
        _look_for_chromium()
    stamp.write_text(digest)
    _say(f"Ready in {time.monotonic() - began:.0f} s")


def _digest() -> str:
    """Return a digest of everything that an installation depends on."""
    digest = hashlib.sha256(frontend.sources_digest().encode())
    for name in _DESCRIPTIONS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def _make_venv() -> None:
    if PYTHON.exists() and _succeeds([PYTHON, "-m", "pip", "--version"]):
        return
    _say(f"Creating .venv with Python {sys.version.split()[0]}")
    if _succeeds([sys.executable, "-m", "venv", "--clear", VENV]):
        return
    # Debian keeps ensurepip in a package of its own; the system's pip will do.
    _run([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV], "venv")
    pip = [sys.executable, "-m", "pip", "--python", PYTHON, "install", "-q", "pip"]
    _run(pip, "installing pip into .venv (on Debian, install python3-venv)")


def _node_requirement() -> list[str]:
    return [] if frontend.system_node() else [frontend.NODE_REQUIREMENT]


def _torch_index() -> list[str]:
    """Return the option that finds CPU-only wheels, where they exist and answer."""
    if sys.platform == "darwin":
        return []  # there the wheels on PyPI have no CUDA
    try:
        with urllib.request.urlopen(f"{_TORCH_CPU_INDEX}/torch/", timeout=10):
            return [f"--extra-index-url={_TORCH_CPU_INDEX}"]
    except OSError:
        return []


def _install(arguments: list[str], what: str) -> None:
    _say(f"Installing {what}")
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--no-input"]
    _run([*pip, "--disable-pip-version-check", *arguments], f"installing {what}")


def _look_for_chromium() -> None:
    """Find or install one; without it the browser tests fail, but others still run."""
    _say("Looking for Chromium")
    subprocess.run([PYTHON, "-m", "tools.browser"], cwd=ROOT, check=False)


def _run(command: list[str | Path], what: str) -> None:
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise BootstrapError(f"Stopped at: {what}. The reason is above.")


def _succeeds(command: list[str | Path]) -> bool:
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return done.returncode == 0


def _say(text: str) -> None:
    print(f"== {text}", flush=True)


def main() -> int:
    """Prepare for the profile named on the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("profile", choices=sorted(_EXTRAS))
    try:
        prepare(parser.parse_args().profile)
    except BootstrapError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
