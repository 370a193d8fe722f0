"""Run the tests nearest to what differs from ``main``: what ``make test-changed`` does.

A test file is of interest if its imports, and theirs in turn, reach a module that
changed. Most reach most of both packages that way, so the nearest run first, as many as
a few minutes allow: changed tests, tests of the same room, tests that speak of what was
changed. What was left out is said; ``make test`` runs it. The last run tells how long a
file takes; where none did, or the machine is busy, the time ends the tests.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tools import check
from tools.imports import imports_of
from tools.imports import modules as package_modules
from tools.stages import ROOT, Stage

SECONDS = 80.0
"""How long the tests in Python should take, and as long those in a browser."""

DEADLINE = 100.0
"""When no more of them begin, whatever they should take: what imports them counts."""

_UNKNOWN_SECONDS = 3.0  # of a test file that never ran here
_UNKNOWN_BROWSER_SECONDS = 15.0
_COMMON = 40  # a word in more test files than this says nothing


def changed_files(base: str) -> list[Path]:
    """Return the files that differ from a commit or are new, relative to the root.

    Raises:
        SystemExit: git knows no such commit.
    """
    commands = (
        ("diff", "--name-only", "--diff-filter=d", base),
        ("ls-files", "--others", "--exclude-standard"),
    )
    found: set[str] = set()
    for command in commands:
        git = subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if git.returncode:
            raise SystemExit(f"git cannot compare with {base!r}: {git.stderr.strip()}")
        found |= set(git.stdout.splitlines())
    return [Path(name) for name in sorted(found)]


@dataclass
class Graph:
    """Who imports whom, in both packages, the tests and the tools."""

    files: dict[str, Path] = field(default_factory=lambda: _all_modules())

    @cached_property
    def _names(self) -> dict[Path, str]:
        return {path: name for name, path in self.files.items()}

    def module(self, file: Path) -> str | None:
        """Return the module of a file, where it is one."""
        return self._names.get(ROOT / file)

    @cached_property
    def imported(self) -> dict[str, set[str]]:
        """The modules that each module imports."""
        return {name: set(self._imports(name)) for name in self.files}

    def _imports(self, name: str) -> Iterator[str]:
        path = self.files[name]
        package = path.name == "__init__.py"
        source = path.read_text(encoding="utf-8")
        for each in imports_of(name, source, is_package=package):
            parts = each.target.split(".")
            for end in range(1, len(parts) + 1):  # a module runs after its packages
                target = ".".join(parts[:end])
                if target in self.files and target != name:
                    yield target
        if package and "import_module" in source:  # it loads what lies beside it
            yield from (each for each in self.files if each.startswith(f"{name}."))

    def distances(self, changed: Iterable[str]) -> dict[str, int]:
        """Return how many imports lead from each module to one of these."""
        importers: dict[str, list[str]] = {}
        for name, targets in self.imported.items():
            for target in targets:
                importers.setdefault(target, []).append(name)
        found = dict.fromkeys(changed, 0)
        waiting = list(found)
        for name in waiting:
            for importer in importers.get(name, ()):
                if importer not in found:
                    found[importer] = found[name] + 1
                    waiting.append(importer)
        return found


def _all_modules() -> dict[str, Path]:
    found = package_modules()
    for folder in ("tests", "tools"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = file
    return found


def words_of(file: Path) -> set[str]:
    """Return what tests may call the contents of a file: its name, what it defines."""
    text = (ROOT / file).read_text(encoding="utf-8", errors="replace")
    found = {file.stem.strip("_")}
    if file.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name.strip("_"))
                calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
                given = [arg for call in calls for arg in call.args]
                constants = [a.value for a in given if isinstance(a, ast.Constant)]
                found |= {value for value in constants if isinstance(value, str)}
    else:
        found |= set(re.findall(r"""(?:testid|testId)[=:]\s*["'`]([\w-]+)""", text))
    return {word for word in found if len(word) > 2}


@dataclass
class Choice:
    """Test files, nearest first, as many as the time allows, and the others."""

    chosen: list[Path] = field(default_factory=list[Path])
    left_out: list[Path] = field(default_factory=list[Path])

    def said(self, what: str) -> str:
        """Say how many there are."""
        if not self.chosen:
            return f"No {what} reaches what changed."
        more = f"; {len(self.left_out)} more reach it from further away"
        return f"{len(self.chosen)} {what}s{more if self.left_out else ''}."


def nearest(
    tests: dict[Path, int],
    changed: list[Path],
    known: dict[str, float],
    budget: float,
    unknown: float = _UNKNOWN_SECONDS,
) -> Choice:
    """Choose test files by how near they are.

    Args:
        tests: How many imports lead from each file to what changed.
        changed: The files that changed.
        known: How long each test took the last time, by its name.
        budget: Seconds that the chosen ones may take together.
        unknown: Seconds of a file that is not among the known ones.
    """
    texts = {test: (ROOT / test).read_text(encoding="utf-8") for test in tests}
    words = {word for file in changed for word in words_of(file)}
    spoken = {test: _spoken(words, text) for test, text in texts.items()}
    often = {w for w in words if sum(w in each for each in spoken.values()) > _COMMON}
    rooms = [_room(file) for file in changed if file.parts[0] != "tests"]

    def order(test: Path) -> tuple[object, ...]:
        shared = max((_nearness(room, _room(test)) for room in rooms), default=0)
        told = len(spoken[test] - often)
        return test not in changed, -shared, -told, tests[test], str(test)

    seconds = _seconds_by_file(known)
    choice, spent = Choice(), 0.0
    for test in sorted(tests, key=order):
        needed = seconds.get(test.as_posix(), unknown)
        within = spent + needed <= budget or not choice.chosen
        spent += needed if within else 0.0
        (choice.chosen if within else choice.left_out).append(test)
    return choice


def _spoken(words: set[str], text: str) -> set[str]:
    return words & set(re.findall(r"[\w-]+", text))


def _room(file: Path) -> list[str]:
    """Return the folders of a file without what only marks them as private.

    The tests of ``engine/gradtape`` are in ``tests/engine``; what is called gradtape in
    ``tests/gradviz`` is what gradviz does with it.
    """
    parts = [part.strip("_") for part in file.parent.parts]
    if parts[:2] == ["engine", "gradtape"]:
        del parts[1]
    return [part for part in parts if part not in ("tests", "src")]


def _nearness(room: list[str], other: list[str]) -> int:
    """Compare two rooms: inner folders in common count more than all around them."""
    return sum(2**depth for depth, name in enumerate(room) if name in other)


def _seconds_by_file(known: dict[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for test, seconds in known.items():
        file = test.partition("::")[0]
        found[file] = found.get(file, 0.0) + seconds
    return found


def lanes_for(changed: list[Path], reports: Path) -> list[list[Stage]]:
    """Return the stages for what changed, and say what was chosen."""
    graph, known = Graph(), check.usual()["tests"]
    every = {each.name: each for lane in check.stages(reports) for each in lane}
    names = [name for name in map(graph.module, changed) if name is not None]
    reached = {
        graph.files[name].relative_to(ROOT): distance
        for name, distance in graph.distances(names).items()
        if graph.files[name].name.startswith("test_")
    }
    python = {t: d for t, d in reached.items() if "browser" not in t.parts}
    lanes: list[list[Stage]] = [[], []]
    if names:
        lanes[1] += [every[name] for name in ("ruff check", "ruff format", "pyright")]
        choice = nearest(python, changed, known, SECONDS * check.WORKERS)
        print(choice.said("test file"))
        if choice.chosen:
            options = [*check.PARALLEL, *map(str, choice.chosen)]
            nearby = check.pytest("nearest", reports, *options, deadline=DEADLINE)
            lanes[0].append(nearby)
    view = [file for file in changed if file.parts[0] == "extension"]
    if view:
        related = [str(file.relative_to("extension")) for file in view]
        lanes[0].append(_related(every["vitest"], related))
        lanes[1] += [every["biome"], every["tsc"]]
        pages = {
            test.relative_to(ROOT): 0
            for test in (ROOT / "tests" / "browser").glob("test_*.py")
        }
        choice = nearest(pages, view, known, SECONDS, _UNKNOWN_BROWSER_SECONDS)
        print(choice.said("browser test file"))
        options = [*map(str, choice.chosen), *check.RERUNS]
        lanes[1].append(check.pytest("pages", reports, *options, deadline=DEADLINE))
    return lanes


def _related(vitest: Stage, files: list[str]) -> Stage:
    """Return vitest with only the tests whose imports reach some files."""
    at = list(vitest.command).index("--")
    npm = [part for part in vitest.command[:at] if part not in ("test", "--silent")]
    command = [*npm, "exec", "--", "vitest", "related", "--run", "--passWithNoTests"]
    return Stage(
        "related",
        vitest.group,
        [*command, *vitest.command[at + 1 :], *files],
        vitest.folder,
        vitest.report,
        vitest.read,
    )


def main() -> int:
    """Run the linters and the tests nearest to what differs from ``main``."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--base", default="main", metavar="COMMIT", help="compare with this (main)"
    )
    changed = changed_files(parser.parse_args().base)
    if not changed:
        print("Nothing differs from main.")
        return 0
    with tempfile.TemporaryDirectory(prefix="gradviz-check-") as folder:
        return check.run(lanes_for(changed, Path(folder)), Path(folder))


if __name__ == "__main__":
    sys.exit(main())
