"""Files that the pages and READMEs name are there: a reader can open each of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`([\w./-]+\.(?:py|pyi|tsx?|mjs|md|toml|ipynb))`")
EXAMPLES = {"train.py", "quiet.py", "script.py", "x.py"}
"""Files of readers' own, in examples."""


def pages() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [page for page in listed.stdout.split() if page != "CHANGELOG.md"]


def test_pages_name_files_that_exist():
    """By their path from the root, from ``engine/`` or from the page, or in its room."""
    missing = [
        f"{page}: {name}"
        for page in pages()
        for name in NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
        if name not in EXAMPLES and not _found(ROOT / page, name)
    ]
    assert not missing, "\n".join(missing)


def _found(page: Path, name: str) -> bool:
    homes = (ROOT, ROOT / "engine", ROOT / "engine/gradtape", page.parent)
    return any((home / name).is_file() for home in homes) or any(
        path.match(f"**/{name}") for path in page.parent.rglob(Path(name).name)
    )
