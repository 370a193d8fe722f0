"""Rules for every tracked file: one subject, a first line, no machine's paths."""

from __future__ import annotations

import ast
import io
import re
import shutil
import subprocess
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE_LIMIT = 500
# Path -> the lines of code granted to it, with the reason beside.
LONGER: dict[str, int] = {
    "engine/gradtape/distributions/transforms.py": 700,  # one class a transform
    "engine/gradtape/nn/modules/module.py": 560,  # one class: Module
    "extension/src/ir/types.ts": 1_000,  # generated from gradviz/ir
}

# The names stand apart from their slashes, so that this file does not match itself.
# Made-up paths in tests are those of `me` and `you`.
HOMES = ("home", "Users", "root", "work")
MACHINE_PATH = re.compile(
    rf"(?<![\w.])/(?:{'|'.join(HOMES)})/(?!me/|you/)[\w.]"
    rf"|[A-Z]:\\{{1,2}}{HOMES[1]}\b"
)


SILENT_TOKENS = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


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


def lines_of_code(name: str, text: str) -> int:
    """Count the lines that do something: no docstrings, comments or empty lines."""
    if not name.endswith(".py"):
        kept = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines()
        return sum(bool(line.strip()) and line.lstrip()[:2] != "//" for line in kept)
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT_TOKENS:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            code.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(code)


@cache
def long_files() -> dict[str, int]:
    """The sources with more lines of code than a file should have, and how many."""
    sources = [n for n in tracked() if n.endswith((".py", ".ts", ".tsx", ".mjs"))]
    texts = {name: text_of(name) or "" for name in sources}
    return {
        name: lines
        for name, text in texts.items()
        if text.count("\n") > CODE_LIMIT
        and (lines := lines_of_code(name, text)) > CODE_LIMIT
    }


def test_sources_have_one_subject_and_no_more_code_than_it_needs():
    long = [
        f"{name}: {lines} lines of code; split it by subject, or say in LONGER why not"
        for name, lines in long_files().items()
        if lines > LONGER.get(name, 0)
    ]
    assert not long, "\n".join(long)


def test_grants_of_length_are_used():
    assert set(LONGER) <= set(long_files())


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.py", '"""Doc."""\n\n# why\nx = (\n    1,\n)\n', 3),
        (
            "a.py",
            'def f():\n    """Doc.\n\n    More."""\n    return """a\nb"""',
            3,
        ),
        ("a.ts", "/* a\n b */\n\n// c\nconst x = 1; // d\n", 1),
    ],
)
def test_lines_of_code_are_those_that_do_something(name: str, text: str, lines: int):
    assert lines_of_code(name, text) == lines


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
