"""What the distributions say of themselves, on PyPI and on conda-forge."""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from gradviz.extras import missing
from tools import release

PROJECTS = sorted(release.PROJECTS)


def described(name: str, root: Path) -> dict[str, Any]:
    """The table `project` of a distribution."""
    file = root / release.PROJECTS[name] / "pyproject.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))["project"]


def recipe(name: str, root: Path) -> dict[str, Any]:
    file = root / "packaging" / "conda" / name / "recipe.yaml"
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def test_all_places_name_one_version(root: Path):
    assert re.fullmatch(r"\d+\.\d+\.\d+", release.agreed_version(root))


@pytest.mark.slow
def test_twine_and_pyroma_find_nothing_to_object_to(
    wheels: dict[str, Path], sdists: dict[str, Path]
):
    release.check([*wheels.values(), *sdists.values()])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "heading"), [("autogradviz", "# gradviz"), ("gradtape", "# gradtape")]
)
def test_the_page_on_pypi_asks_for_no_file(
    name: str, heading: str, wheels: dict[str, Path]
):
    with zipfile.ZipFile(wheels[name]) as wheel:
        metadata = wheel.read(f"{name}-0.1.0.dist-info/METADATA")
    page = message_from_bytes(metadata).get_payload()
    assert isinstance(page, str)
    assert page.startswith(heading)
    assert re.findall(r"\]\((?!https://)|<picture|<img|\.png", page) == []
    assert "import gradtape as torch" in page
    assert "## The records" not in page  # the engine's, for whoever works on it


@pytest.mark.parametrize("name", PROJECTS)
def test_the_licence_goes_along(name: str, root: Path):
    licence = root / release.PROJECTS[name] / "LICENSE"
    assert licence.read_bytes() == (root / "LICENSE").read_bytes()


@pytest.mark.parametrize("name", PROJECTS)
def test_both_are_described_alike(name: str, root: Path):
    mine, other = described(name, root), described("gradtape", root)
    for key in ("license", "authors", "requires-python"):
        assert mine[key] == other[key]


@pytest.mark.parametrize("name", PROJECTS)
def test_a_recipe_requires_what_its_project_requires(name: str, root: Path):
    project, told = described(name, root), recipe(name, root)
    wanted = [Requirement(line) for line in project["dependencies"]]
    run = [f"{each.name} {each.specifier}" for each in wanted]
    assert told["requirements"]["run"] == ["python >=${{ python_min }}", *run]
    assert project["requires-python"] == f">={told['context']['python_min']}"
    assert told["about"]["summary"] == project["description"]
    licences = told["about"]["license_file"]
    assert project["license-files"] == (
        licences if isinstance(licences, list) else [licences]
    )


def test_the_recipe_of_the_debugger_has_its_command_and_bounds(root: Path):
    project, told = described("autogradviz", root), recipe("autogradviz", root)
    commands = [f"{key} = {value}" for key, value in project["scripts"].items()]
    assert told["build"]["python"]["entry_points"] == commands
    extras = project["optional-dependencies"]
    torch, gradtape = told["requirements"]["run_constraints"][::-1]
    assert [torch.replace("pytorch ", "torch")] == extras["torch"]
    assert gradtape == "gradtape ==${{ version }}"


def test_extras_bring_what_a_sentence_says_they_bring(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("gradtape", "tqdm"):
        monkeypatch.setitem(sys.modules, name, None)
    extras = described("autogradviz", root)["optional-dependencies"]
    lines = {**extras, "demo": [*extras["gradtape"], *extras["demo"][1:]]}
    assert extras["demo"][0] == "autogradviz[gradtape]"
    for extra in ("demo", "gradtape"):
        names = " and ".join(Requirement(line).name for line in lines[extra])
        assert (missing(extra) or "").startswith(f"{names} ")
