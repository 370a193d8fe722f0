"""What the site's playground loads: its scripts, our packages, and Pyodide itself.

Pyodide comes from npm's package of that name, or from the folder that ``PYODIDE``
names: one with wheels of NumPy and SciPy makes a site that needs no other server.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.frontend import ROOT, install_modules, require_node

FOLDER = "_static/playground"
PACKAGES = ("numpy", "scipy", "ml-dtypes")  # what gradtape needs

_INTERPRETER = ("pyodide.*", "pyodide-lock.json", "python_stdlib.zip")
_CDN = "cdn.jsdelivr.net"
_WHEELS_MB = 20  # of the packages, where they lie elsewhere
_OURS_MB = 3

PROGRAM = """\
import torch
from torch import nn

encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, targets = torch.randn(16, 8), torch.randn(16, 1)

for step in range(3):
    features = torch.tanh(encoder(inputs)).detach()
    loss = ((head(features) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
"""


@dataclass(frozen=True)
class Pyodide:
    """A Pyodide that lies in a folder, with all of its packages or with none."""

    folder: Path

    @cached_property
    def lock(self) -> dict[str, Any]:
        """What the distribution says of itself and of its packages."""
        return json.loads((self.folder / "pyodide-lock.json").read_text("utf-8"))

    @property
    def python(self) -> str:
        """The version of its Python."""
        return self.lock["info"]["python"]

    @property
    def address(self) -> str:
        """Where the same version lies for everybody, with its packages."""
        about = json.loads((self.folder / "package.json").read_text("utf-8"))
        return f"https://{_CDN}/pyodide/v{about['version']}/full/"

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """Those of :data:`PACKAGES` that this version knows."""
        return tuple(name for name in PACKAGES if name in self.lock["packages"])

    @cached_property
    def wheels(self) -> list[Path]:
        """The files of these packages and of what they need; [] if one is missing."""
        known, wanted = self.lock["packages"], list(self.packages)
        for name in wanted:
            wanted += [each for each in known[name]["depends"] if each not in wanted]
        files = [self.folder / known[name]["file_name"] for name in wanted]
        return files if all(file.is_file() for file in files) else []

    @property
    def files(self) -> list[Path]:
        """Everything that is copied into the site."""
        found = [file for each in _INTERPRETER for file in self.folder.glob(each)]
        return [file for file in found if file.suffix not in (".map", ".ts")] + (
            self.wheels
        )


def pyodide() -> Pyodide:
    """Return the Pyodide that ``PYODIDE`` names, else npm's, which is installed."""
    named = os.environ.get("PYODIDE")
    if named:
        return Pyodide(Path(named))
    install_modules()
    return Pyodide(ROOT / "extension" / "node_modules" / "pyodide")


def context(found: Pyodide) -> dict[str, Any]:
    """Return what the page's template is told; addresses are relative to the page."""
    local = f"{FOLDER}/pyodide/"
    elsewhere = not found.wheels
    megabytes = sum(file.stat().st_size for file in found.files) // 1_000_000
    return {
        "program": PROGRAM,
        "python": found.python,
        "setup": {
            "pyodide": local,
            "wheels": found.address if elsewhere else local,
            "packages": found.packages,
            "sources": f"{FOLDER}/packages.zip",
            "worker": f"{FOLDER}/worker.js",
            "megabytes": megabytes + _OURS_MB + (_WHEELS_MB if elsewhere else 0),
            "findings": "findings/",
            "servers": f"this site and {_CDN}" if elsewhere else "this site",
        },
    }


def write(found: Pyodide, site: Path) -> None:
    """Write into a built site what its playground loads."""
    folder = site / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    bundle(folder)
    with zipfile.ZipFile(folder / "packages.zip", "w", zipfile.ZIP_DEFLATED) as file:
        pack(file, ROOT / "gradviz", skip=("labextension",))
        pack(file, ROOT / "engine" / "gradtape")
        file.write(ROOT / "tools" / "in_browser.py", "in_browser.py")
    (folder / "pyodide").mkdir()
    for each in found.files:
        shutil.copy(each, folder / "pyodide")


def bundle(folder: Path) -> None:
    """Bundle the page's scripts and styles into a folder."""
    install_modules()
    node = require_node()
    command = [str(node.executable), "build.mjs", "--playground", str(folder)]
    subprocess.run(command, cwd=ROOT / "extension", env=node.environment(), check=True)


def pack(file: zipfile.ZipFile, package: Path, skip: tuple[str, ...] = ()) -> None:
    """Put a package's files into an archive, but for folders at its top."""
    for each in sorted(package.rglob("*")):
        inside = each.relative_to(package.parent)
        if each.is_file() and not {*skip, "__pycache__"} & {*inside.parts[1:]}:
            file.write(each, inside)


def link(program: str) -> str:
    """Return the playground's address with a program, as the page writes it too.

    >>> link("x = 1")
    'playground.html#p=q1CwVTAEAA'
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(program.encode()) + packer.flush()
    text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return f"playground.html#p={text}"
