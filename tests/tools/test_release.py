"""What stops a release, and what is written for conda-forge."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import release
from tools.release import ReleaseError

PLACES = (
    *("pyproject.toml", "extension/package.json", "CITATION.cff", "CHANGELOG.md"),
    *("gradviz/__init__.py", "engine/gradtape/_version.py"),
    *(f"packaging/conda/{name}/recipe.yaml" for name in release.NAMES),
)


@pytest.fixture
def house(root: Path, tmp_path: Path) -> Path:
    """A repository with the files that name the version, all committed."""
    for place in PLACES:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / place, tmp_path / place)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    me = ("-c", "user.name=me", "-c", "user.email=me@localhost")
    git(tmp_path, *me, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def test_a_tree_with_changes_is_not_released(house: Path):
    release.require_clean_tree(house)
    (house / "notes.txt").write_text("later")
    with pytest.raises(ReleaseError, match=r"not committed:\n\?\? notes\.txt"):
        release.require_clean_tree(house)


@pytest.mark.parametrize("place", [place for place in PLACES if "LOG" not in place])
def test_a_place_with_another_version_is_named(house: Path, place: str):
    before = release.agreed_version(house)
    edit(house / place, before, "99.0.0")
    shown = "the extra `gradtape`" if place == "pyproject.toml" else place
    with pytest.raises(ReleaseError) as refused:
        release.agreed_version(house)
    assert f"  99.0.0  {shown}" in str(refused.value).splitlines()


def test_a_version_without_its_section_is_not_released(house: Path):
    with pytest.raises(ReleaseError, match=r"no section `## \[9\.0\.0\] - DATE`"):
        release.require_changelog("9.0.0", house)
    edit(house / "CHANGELOG.md", "## [Unreleased]", "## [9.0.0] - 2000-01-01")
    release.require_changelog("9.0.0", house)


def test_what_twine_objects_to_is_not_released(house: Path):
    wheel = house / "autogradviz-0.1.0-py3-none-any.whl"
    wheel.write_text("no archive")
    with pytest.raises(ReleaseError, match="Stopped at: twine check"):
        release.check([wheel], house)


def test_recipes_name_the_files_on_pypi(house: Path):
    (house / "dist").mkdir()
    for name in release.NAMES:
        (house / "dist" / f"{name}-1.2.3.tar.gz").write_bytes(name.encode())
    for name, recipe in zip(
        release.NAMES, release.write_recipes("1.2.3", house), strict=True
    ):
        text = recipe.read_text(encoding="utf-8")
        digest = hashlib.sha256(name.encode()).hexdigest()
        file = f"{name[0]}/{name}/{name}-${{{{ version }}}}.tar.gz"
        assert f"  url: https://pypi.org/packages/source/{file}\n" in text
        assert f"  sha256: {digest}\n" in text
        assert "  path: " not in text


def test_addresses_are_asked_for_once_the_project_has_one(house: Path):
    assert release.unrated(house) == ["AuthorEmail", "Url"]
    urls = '[project.urls]\nRepository = "https://example.org"\n\n[project.scripts]'
    edit(house / "pyproject.toml", "[project.scripts]", urls)
    assert release.unrated(house) == ["AuthorEmail"]
