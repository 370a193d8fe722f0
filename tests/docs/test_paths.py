"""Files that the pages and READMEs name are there: a reader can open each of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`([\w./-]+(?:\.(?:py|pyi|tsx?|mjs|md|toml|ipynb)|/))`")
LINKED = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(?:#[^)\s]*)?\)")
STOP = re.compile(r"`([\w./-]+\.(?:py|tsx?))`,\s+((?:`[\w.]+`(?:,\s+|,?\s+and\s+)?)+)")
"""A file, and after it the functions of it that a walk goes through."""
HOMES = [
    *("", "engine/", "engine/gradtape/", "gradviz/"),
    *("gradviz/_capture/", "extension/", "extension/src/", "tests/"),
]
"""From where a page may name a file, beside its own folder and those around it."""

EXAMPLES = {
    *("train.py", "quiet.py", "script.py", "x.py"),  # readers' own
    *("gvNNN_slug.py", "gvNNN.py"),  # to be written
}
BUILT = {"dist", "dist/conda", "gradviz/render/static", "gradviz/labextension"}
# Their links are the site's: Sphinx checks them.
OF_THE_SITE = {"docs/guide.md", "docs/index.md", "docs/playground.md"}


@cache
def tracked() -> frozenset[str]:
    """Return the files that git knows or would add, and their folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [PurePosixPath(name) for name in listed.stdout.splitlines()]
    folders = {folder for file in files for folder in file.parents}
    there = {str(file) for file in files if (ROOT / file).is_file()}
    return frozenset(there | {str(folder) for folder in folders} | BUILT)


def pages() -> list[str]:
    return sorted(
        name for name in tracked() if name.endswith(".md") and name != "CHANGELOG.md"
    )


def test_pages_name_files_that_exist():
    """By their path from one of the homes or around the page, or inside its room."""
    missing = [
        f"{page}: {name}"
        for page in pages()
        for name in NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
        if PurePosixPath(name).name not in EXAMPLES and not _found(page, name)
    ]
    assert not missing, "\n".join(missing)


def test_pages_link_to_files_that_exist():
    missing = [
        f"{page}: {link}"
        for page in pages()
        if page not in OF_THE_SITE
        for link in LINKED.findall((ROOT / page).read_text(encoding="utf-8"))
        if not (ROOT / page).parent.joinpath(link).exists()
    ]
    assert not missing, "\n".join(missing)


def test_stops_of_the_walks_exist():
    """Each function that docs/architecture.md names after a file is in that file."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    stops = STOP.findall(text)
    assert len(stops) > 30
    missing = [
        f"{file}: {name}"
        for file, names in stops
        for name in re.findall(r"`([\w.]+)`", names)
        if not name.endswith((".py", ".ts", ".tsx")) and not _names(file, name)
    ]
    assert not missing, "\n".join(missing)


def _names(file: str, name: str) -> bool:
    """Say whether the file, given by the end of its path, says every part of a name."""
    homes = [path for path in tracked() if f"/{path}".endswith(f"/{file}")]
    texts = [(ROOT / path).read_text(encoding="utf-8") for path in homes]
    return any(
        all(re.search(rf"\b{part}\b", text) for part in name.split("."))
        for text in texts
    )


def _found(page: str, name: str) -> bool:
    return any(path in tracked() for path in _places(page, name)) or _inside(page, name)


def _places(page: str, name: str) -> Iterator[str]:
    around = [f"{folder}/" for folder in PurePosixPath(page).parents]
    for home in [*HOMES, *around]:
        path = (ROOT / home / name).resolve()
        if path.is_relative_to(ROOT):
            yield path.relative_to(ROOT).as_posix()


def _inside(page: str, name: str) -> bool:
    """Say whether the room of a page has it deeper; the root and docs are no rooms."""
    room = PurePosixPath(page).parent
    if str(room) in {".", "docs"}:
        return False
    end = "/" + name.rstrip("/")
    return any(path.startswith(f"{room}/") and path.endswith(end) for path in tracked())
