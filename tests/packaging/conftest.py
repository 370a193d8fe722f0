"""The four files that are released, built once, and environments they are put into."""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.packaging.process import run
from tools import frontend, playground


def _built(root: Path, kind: str, folder: Path) -> dict[str, Path]:
    """Build both distributions in one form; return the files by name."""
    frontend.build(root)  # as `make test` does; without Node the hook could not
    for project in (root, root / "engine"):
        build = (sys.executable, "-m", "build", "--no-isolation", f"--{kind}")
        run(*build, "--outdir", folder, project, cwd=folder)
    return {file.name.partition("-")[0]: file for file in folder.iterdir()}


@pytest.fixture(scope="session")
def wheels(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels of this checkout, by distribution."""
    return _built(root, "wheel", tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="session")
def sdists(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source distributions of this checkout, by distribution."""
    return _built(root, "sdist", tmp_path_factory.mktemp("sdists"))


def _environment(folder: Path, wheels: list[Path], *others: str) -> Path:
    """Return the Python of a new environment: wheels, what they need, and others.

    What is not ours is linked from the environment of the tests, which has it already:
    what nothing asks for cannot be imported.
    """
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--no-index", "--no-deps", "--no-compile", *wheels, cwd=folder)
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    code = "import importlib.metadata as m; print(*m.requires('{}'), sep='\\n')"
    for wheel in wheels:
        name = wheel.name.partition("-")[0]
        for line in run(python, "-c", code.format(name), cwd=folder).splitlines():
            _link(Requirement(line), site)
    for name in others:
        _link(Requirement(name), site)
    return python


def _link(wanted: Requirement, site: Path) -> None:
    """Link a distribution of the tests' environment, and all that it requires."""
    if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
        return
    found = distribution(wanted.name)
    for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
        source = Path(str(found.locate_file(top)))
        if source.exists() and not (site / top).exists():
            (site / top).symlink_to(source)
    for line in found.requires or []:
        _link(Requirement(line), site)


@pytest.fixture(scope="session")
def plain(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the debugger and PyTorch only."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("plain")
    return _environment(folder, [wheels["autogradviz"]], "torch")


@pytest.fixture(scope="session")
def demo(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with what the extra `demo` brings."""
    folder = tmp_path_factory.mktemp("demo")
    return _environment(folder, [wheels["autogradviz"], wheels["gradtape"]], "tqdm")


@pytest.fixture(scope="session")
def pyodide() -> playground.Pyodide:
    """The Pyodide that ``PYODIDE`` names, or npm's."""
    if frontend.find_node() is None:
        pytest.skip("needs Node")
    return playground.pyodide()
