"""Build and check a release of both distributions; the upload is left to a person.

``make release`` runs it. It stops at the first thing that is not ready, and ends with
the command that uploads what it built.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tools import frontend

ROOT = frontend.ROOT

NAMES = ("autogradviz", "gradtape")
PROJECTS = {"autogradviz": ".", "gradtape": "engine"}

_NO_ADDRESS = (
    "The distributions name no address of the project: their pages on PyPI show no "
    "pictures and lead nowhere. pyproject.toml says where to write it."
)


class ReleaseError(RuntimeError):
    """Something is not ready to be released; the text says what to do."""


def versions(root: Path = ROOT) -> dict[str, str]:
    """Return the version that each place names, by the place."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    (engine,) = pyproject["project"]["optional-dependencies"]["gradtape"]
    extension = json.loads((root / "extension/package.json").read_text("utf-8"))
    found = {
        "the extra `gradtape`": engine.removeprefix("gradtape=="),
        "extension/package.json": extension["version"],
    }
    patterns = {
        "gradviz/__init__.py": r'^__version__ = "(.*)"$',
        "engine/gradtape/_version.py": r'^__version__ = "(.*)"$',
        "CITATION.cff": r"^version: (.*)$",
    }
    for name in NAMES:
        patterns[f"packaging/conda/{name}/recipe.yaml"] = r'^  version: "(.*)"$'
    for place, pattern in patterns.items():
        text = (root / place).read_text(encoding="utf-8")
        (found[place],) = re.findall(pattern, text, flags=re.MULTILINE)
    return found


def unrated(root: Path = ROOT) -> list[str]:
    """Return what pyroma is not to ask for: addresses that nobody has given."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return ["AuthorEmail", *([] if "urls" in pyproject["project"] else ["Url"])]


def agreed_version(root: Path = ROOT) -> str:
    """Return the one version that all places name.

    Raises:
        ReleaseError: they do not agree.
    """
    found = versions(root)
    if len(set(found.values())) > 1:
        told = "\n".join(f"  {version}  {place}" for place, version in found.items())
        raise ReleaseError(f"The places that name the version disagree:\n{told}")
    return next(iter(found.values()))


def require_clean_tree(root: Path = ROOT) -> None:
    """Raise ReleaseError if files differ from what is committed, or are not known."""
    changed = subprocess.run(
        ["git", "status", "--porcelain"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if changed:
        raise ReleaseError(f"Commit or remove what is not committed:\n{changed}")


def require_changelog(version: str, root: Path = ROOT) -> None:
    """Raise ReleaseError if the changelog has no section of the version."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"\n## [{version}] - " not in text:
        raise ReleaseError(
            f"CHANGELOG.md has no section `## [{version}] - DATE`: give what is "
            "unreleased that name."
        )


def build(version: str, root: Path = ROOT) -> list[Path]:
    """Build both distributions into an empty ``dist``; return the four files."""
    dist = root / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    for project in PROJECTS.values():
        command = ["build", "--no-isolation", "--outdir", str(dist), project]
        _run(command, f"building {project}", root)
    files = [
        dist / f"{name}-{version}{ending}"
        for name in NAMES
        for ending in (".tar.gz", "-py3-none-any.whl")
    ]
    if set(files) != set(dist.iterdir()):
        raise ReleaseError(f"dist holds other files than {version} of {NAMES}.")
    return files


def check(files: list[Path], root: Path = ROOT) -> None:
    """Let twine and pyroma judge what was built; raise ReleaseError if they object."""
    _run(["twine", "check", "--strict", *map(str, files)], "twine check", root)
    for file in files:
        if file.suffix == ".gz":
            strict = ["--min", "10", "--skip-tests", ",".join(unrated(root))]
            _run(["pyroma", "--file", *strict, str(file)], "pyroma", root)


def write_recipes(version: str, root: Path = ROOT) -> list[Path]:
    """Write the recipes for conda-forge, which name the files that are on PyPI then."""
    written: list[Path] = []
    for name in NAMES:
        sdist = f"{name}-{version}.tar.gz"
        digest = hashlib.sha256((root / "dist" / sdist).read_bytes()).hexdigest()
        text = (root / f"packaging/conda/{name}/recipe.yaml").read_text("utf-8")
        address = f"https://pypi.org/packages/source/{name[0]}/{name}/{sdist}"
        source = f"  url: {address.replace(version, '${{ version }}')}"
        text, count = re.subn(
            r"^  path: .*$", f"{source}\n  sha256: {digest}", text, flags=re.MULTILINE
        )
        if count != 1:
            raise ReleaseError(f"The recipe of {name} has no `path:` to replace.")
        recipe = root / "dist" / "conda" / name / "recipe.yaml"
        recipe.parent.mkdir(parents=True)
        recipe.write_text(text, encoding="utf-8")
        written.append(recipe)
    return written


def _run(command: list[str], what: str, root: Path) -> None:
    print(f"== {what}", flush=True)
    plain = {**os.environ, "GRADTAPE_PURE": "1"}  # wheels that run on any machine
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, cwd=root, env=plain, check=False)
    if done.returncode:
        raise ReleaseError(f"Stopped at: {what}. The reason is above.")


def main() -> int:
    """Build and check a release, and say how to upload it."""
    try:
        require_clean_tree()
        version = agreed_version()
        require_changelog(version)
        files = build(version)
        check(files)
        recipes = write_recipes(version)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    shown = " ".join(str(file.relative_to(ROOT)) for file in files)
    if "Url" in unrated():
        print(f"\n{_NO_ADDRESS}")
    print(f"\n{version} is ready. To upload it:\n")
    print(f"  git tag v{version}")
    print(f"  .venv/bin/python -m twine upload {shown}")
    print("\nThen to conda-forge:\n")
    print(*(f"  {recipe.relative_to(ROOT)}" for recipe in recipes), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
