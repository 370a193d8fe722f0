"""Rules for every tracked file: short enough to read, and no machine's paths."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 330
# Lists of independent blocks (ops, layers, samples, tests) read well a little longer.
LIST_LIMIT = 400
LISTS = ("engine/gradtape/ops/", "engine/gradtape/nn/", "tests/")
# Path -> the length granted to it, with the reason beside.
LONGER: dict[str, int] = {
    "extension/src/ir/types.ts": 1_000,  # generated from gradviz/ir
}

# The names stand apart from their slashes, so that this file does not match itself.
# Made-up paths in tests are those of `me` and `you`.
HOMES = ("home", "Users", "root", "work")
MACHINE_PATH = re.compile(
    rf"(?<![\w.])/(?:{'|'.join(HOMES)})/(?!me/|you/)[\w.]"
    rf"|[A-Z]:\\{{1,2}}{HOMES[1]}\b"
)


@cache
def tracked() -> list[str]:
    """The files that git knows, or that it would add."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return [name for name in listed if name and (ROOT / name).is_file()]


def text_of(name: str) -> str | None:
    """The text of a file, or None for a binary one."""
    content = (ROOT / name).read_bytes()
    try:
        return None if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def limit_of(name: str) -> int:
    """The number of lines a file may have."""
    return LONGER.get(name, LIST_LIMIT if name.startswith(LISTS) else LIMIT)


def test_sources_are_short_enough_to_read():
    long = {
        name: lines
        for name in tracked()
        if name.endswith((".py", ".ts", ".tsx", ".mjs"))
        and (lines := len((text_of(name) or "").splitlines())) > limit_of(name)
    }
    assert not long, "\n".join(f"{name}: {lines} lines" for name, lines in long.items())


def test_grants_of_length_are_used():
    stale = [
        name
        for name in LONGER
        if name not in tracked() or len((text_of(name) or "").splitlines()) <= LIMIT
    ]
    assert stale == []


def test_no_file_names_a_path_of_one_machine():
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name in tracked()
        for number, line in enumerate((text_of(name) or "").splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


def test_nobody_is_sent_to_the_other_package_of_our_name():
    """PyPI's gradviz is another project: what is missing is named by its own name."""
    told = re.compile(r"pip install '?gradviz\b")
    packages = ("engine/", "gradviz/", "extension/src/", "notebooks/")
    sources = [name for name in tracked() if name.startswith(packages)]
    assert len(sources) > 500
    assert [name for name in sources if told.search(text_of(name) or "")] == []


@pytest.mark.parametrize("home", HOMES)
def test_the_pattern_finds_machine_paths(home: str):
    assert MACHINE_PATH.search(f"cd /{home}/ada/project")
    assert MACHINE_PATH.search(f"'/{home}/.cache'")
    assert not MACHINE_PATH.search(f"https://example.org/{home}/page")
    assert not MACHINE_PATH.search(f"share/{home}/x")
    assert not MACHINE_PATH.search(f"/{home}/me/train.py")


def test_the_pattern_finds_paths_of_windows():
    assert MACHINE_PATH.search(rf"C:\{HOMES[1]}\ada")


def test_every_source_says_what_it_is_for_in_its_first_line():
    """A TypeScript test stands beside the source it is named after; that says it."""
    silent = [
        name
        for name in tracked()
        if name.endswith((".py", ".ts", ".tsx", ".mjs"))
        and ".test." not in name
        and (text := text_of(name))
        and not text.startswith(('"""', 'r"""', "//", "/*", "#"))
    ]
    assert not silent, "\n".join(silent)
