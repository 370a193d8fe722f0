"""What is in the wheels and the source distributions."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.process import run

pytestmark = pytest.mark.slow

NAMES = ["autogradviz", "gradtape"]
SHIPPED = {
    "autogradviz": [
        "gradviz/__init__.py",
        "gradviz/py.typed",
        "gradviz/demo/data/LICENSE",
        "gradviz/demo/data/README.md",
        "gradviz/demo/data/digits.csv.gz",
        "gradviz/render/static/gradviz.js",
        "gradviz/render/static/widget.js",
        "autogradviz-0.1.0.data/data/share/jupyter/labextensions/gradviz/package.json",
    ],
    "gradtape": ["gradtape/__init__.py", "gradtape/py.typed"],
}
FOLDERS = {
    "autogradviz": {"gradviz", "autogradviz-0.1.0.data", "autogradviz-0.1.0.dist-info"},
    "gradtape": {"gradtape", "gradtape-0.1.0.dist-info"},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_holds_code_data_and_type_marks(name: str, wheels: dict[str, Path]):
    wheel = wheels[name]
    names = zipfile.ZipFile(wheel).namelist()
    assert [each for each in SHIPPED[name] if each not in names] == []
    assert wheel.name == f"{name}-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_holds_nothing_else(name: str, wheels: dict[str, Path]):
    names = zipfile.ZipFile(wheels[name]).namelist()
    assert {each.split("/")[0] for each in names} == FOLDERS[name]
    assert [each for each in names if each.startswith("gradviz/labextension")] == []
    assert [each for each in names if each.endswith((".ts", ".map", ".pyc"))] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_sdist_builds_the_same_wheel_without_node(
    name: str, sdists: dict[str, Path], wheels: dict[str, Path], tmp_path: Path
):
    with tarfile.open(sdists[name]) as archive:
        # Pythons before 3.11.4 have no filters.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path, **safely)
    source = tmp_path / f"{name}-0.1.0"
    build = (sys.executable, "-m", "build", "--no-isolation", "--wheel")
    run(*build, "--outdir", tmp_path, source, cwd=tmp_path)
    again = zipfile.ZipFile(tmp_path / wheels[name].name)
    before = zipfile.ZipFile(wheels[name])
    assert again.namelist() == before.namelist()
    described = f"{name}-0.1.0.dist-info/METADATA"
    for file in (*SHIPPED[name], described):
        assert again.read(file) == before.read(file)
