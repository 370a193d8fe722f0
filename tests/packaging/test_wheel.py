"""The wheel and the sdist: what is in them, and that they work where nothing else is.

They are built once from this checkout and installed into environments of their own,
with no Node on PATH.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools import frontend

pytestmark = pytest.mark.slow

SHIPPED = [
    "gradtape/__init__.py",
    "gradtape/py.typed",
    "gradviz/__init__.py",
    "gradviz/py.typed",
    "gradviz/demo/data/LICENSE",
    "gradviz/demo/data/README.md",
    "gradviz/demo/data/digits.csv.gz",
    "gradviz/render/static/gradviz.js",
    "gradviz/render/static/widget.js",
]
LAB = "gradviz-0.1.0.data/data/share/jupyter/labextensions/gradviz/package.json"

# Run in the clean environment, with no tests and no checkout beside it.
TINY = """
import gradtape as gt
import gradviz

x = gt.tensor([1.0, 2.0, 3.0], requires_grad=True)
with gradviz.record() as recorder:
    loss = (x * x).sum()
    loss.backward()
assert x.grad.tolist() == [2.0, 4.0, 6.0]
gradviz.export_html(recorder.snapshot(), "graph.html")
print(len(recorder.snapshot().nodes))
"""


def run(*command: object, cwd: Path, **variables: str) -> str:
    """Run a program without Node on PATH; return what it printed."""
    python = Path(sys.executable).parent
    # The shell is all that tools may need; no folder here holds a Node.
    environment = {"PATH": str(python), "HOME": str(cwd), "LANG": "C.UTF-8"}
    kept = {name: value for name, value in os.environ.items() if "CERT" in name}
    kept |= {name: v for name, v in os.environ.items() if name.startswith("PIP_")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | kept | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    frontend.build(root)  # as `make test` does; without Node the hook could not
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--no-isolation", "--wheel")
    run(*build, "--outdir", folder, root, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def sdist(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built from this checkout."""
    frontend.build(root)
    folder = tmp_path_factory.mktemp("sdist")
    build = (sys.executable, "-m", "build", "--no-isolation", "--sdist")
    run(*build, "--outdir", folder, root, cwd=folder)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and its dependencies only."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--no-compile", wheel, cwd=folder)  # most of it is never imported
    return python


def test_the_wheel_holds_the_bundle_the_data_and_the_type_marks(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in [*SHIPPED, LAB] if name not in names] == []
    assert wheel.name == "gradviz-0.1.0-py3-none-any.whl"


def test_the_wheel_holds_nothing_else(wheel: Path):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {
        "gradtape",
        "gradviz",
        "gradviz-0.1.0.data",
        "gradviz-0.1.0.dist-info",
    }
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.startswith("gradviz/labextension")] == []
    assert [name for name in names if name.endswith((".ts", ".map", ".pyc"))] == []


def test_the_sdist_builds_the_same_wheel_without_node(
    sdist: Path, wheel: Path, tmp_path: Path
):
    with tarfile.open(sdist) as archive:
        # Pythons before 3.11.4 have no filters.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path, **safely)
    source = tmp_path / "gradviz-0.1.0"
    build = (sys.executable, "-m", "build", "--no-isolation", "--wheel")
    run(*build, "--outdir", tmp_path, source, cwd=tmp_path)
    again = zipfile.ZipFile(tmp_path / wheel.name)
    assert again.namelist() == zipfile.ZipFile(wheel).namelist()
    bundle = "gradviz/render/static/gradviz.js"
    assert again.read(bundle) == zipfile.ZipFile(wheel).read(bundle)


def test_a_clean_environment_exports_a_page(installed: Path, tmp_path: Path):
    nodes = int(run(installed, "-W", "error", "-c", TINY, cwd=tmp_path))
    assert nodes >= 3  # the sum, the product, the leaf's accumulation
    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert 'id="gradviz-data"' in page
    assert "mountPage" in page


def test_a_clean_environment_has_the_command(installed: Path, tmp_path: Path):
    printed = run(installed.with_name("gradviz"), "--help", cwd=tmp_path)
    for command in ("demo", "run", "export"):
        assert command in printed


def test_a_clean_environment_has_the_digits(installed: Path, tmp_path: Path):
    code = "from gradviz.demo.digits import load; print(len(load().test_labels))"
    assert run(installed, "-c", code, cwd=tmp_path).strip() == "360"


def test_the_lab_extension_is_where_jupyterlab_looks(installed: Path):
    share = installed.parents[1] / "share" / "jupyter" / "labextensions" / "gradviz"
    assert (share / "package.json").is_file()
    assert list(share.glob("static/*.js"))
