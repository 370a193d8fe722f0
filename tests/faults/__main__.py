"""Plant faults in both packages, one at a time, and see whether the tests catch them.

    python -m tests.faults [--seed N] [--count N] [--minutes M] [--suite COMMIT]

Each fault changes one operator, constant, condition or returned value in a copy of the
working tree; then the tests nearest to that module run there until one fails. With
``--suite`` they are those of another commit, for the same faults. What survives is
printed with its line: a test to write, or a change that makes no difference. A test
that fails without the fault too, as an older one may, catches nothing.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.mutate import Fault, plant
from tools import check
from tools.changed import Graph, nearest
from tools.imports import PACKAGES
from tools.stages import ROOT

_SUITE = ("tests", "tools", "pyproject.toml")


def copy_tree(folder: Path, suite: str | None) -> None:
    """Copy what git tracks, and what was built; tests may come from another commit."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, names.stdout.decode().split("\0")):
        source = ROOT / name
        if source.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    for built in ("gradviz/render/static", "gradviz/labextension"):
        shutil.copytree(ROOT / built, folder / built, dirs_exist_ok=True)
    if suite is not None:
        shutil.rmtree(folder / "tests")
        archive = subprocess.run(
            ["git", "archive", suite, *_SUITE],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    compile_all(folder)


def compile_all(folder: Path) -> None:
    """Compile both packages once; a file with a fault in it is known by its hash."""
    by_hash = py_compile.PycInvalidationMode.CHECKED_HASH
    for package in PACKAGES.values():
        copied = folder / package.relative_to(ROOT)
        compileall.compile_dir(copied, quiet=1, invalidation_mode=by_hash)


def caught(
    fault: Fault, folder: Path, tests: list[Path], seconds: float, workers: int
) -> str:
    """Return the test that fails; "" if none does, "time" where they take too long."""
    names = [str(test) for test in tests]
    failing: list[str] = []  # without the fault
    while True:
        with fault.planted(folder):
            failed = _first_failure(folder, names, failing, seconds, workers)
        how, _, told = failed.partition(" ")
        test = told.partition(" - ")[0]
        if how not in ("FAILED", "ERROR") or test in failing:
            return failed
        if not _first_failure(folder, [test], [], seconds, workers=0):
            return failed
        failing.append(test)
        names = [name for name in names if name != test]  # it cannot be imported


def _first_failure(
    folder: Path, tests: list[str], without: list[str], seconds: float, workers: int
) -> str:
    paths = os.pathsep.join((str(folder / "engine"), str(folder)))
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-m", "not browser"]
    options += ["-n", str(workers), "--dist", "worksteal"]
    options += [f"--deselect={test}" for test in without]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "time"
    if not done.returncode:
        return ""
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else f"pytest ended with {done.returncode}"


def in_suite(tests: list[Path], folder: Path) -> list[Path]:
    """Return the same files in a copy, with those that only it has beside them."""
    there = [test for test in tests if (folder / test).exists()]
    rooms = dict.fromkeys(test.parent for test in tests)
    beside = [path for room in rooms for path in (folder / room).glob("test_*.py")]
    gone = [path.relative_to(folder) for path in sorted(beside)]
    return there + [test for test in gone if not (ROOT / test).exists()]


def main() -> int:
    """Plant faults and print what becomes of each; return 1 if no test noticed one."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument(
        "--minutes", type=float, default=3.0, help="the most for one fault (3)"
    )
    parser.add_argument("--workers", type=int, default=check.WORKERS, metavar="N")
    parser.add_argument("--suite", metavar="COMMIT", help="take its tests")
    options = parser.parse_args()
    graph, known = Graph(), check.usual()["tests"]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="gradviz-faults-") as name:
        folder = Path(name)
        copy_tree(folder, options.suite)
        for number, fault in enumerate(plant(options.seed, options.count), 1):
            began = time.monotonic()
            names = [each for each in [graph.module(fault.file)] if each is not None]
            reached = {
                graph.files[name].relative_to(ROOT): distance
                for name, distance in graph.distances(names).items()
                if graph.files[name].name.startswith("test_")
                and "browser" not in graph.files[name].parts
            }
            budget = options.minutes * 30 * options.workers
            tests = nearest(reached, [fault.file], known, budget).chosen
            tests = in_suite(tests, folder)
            seconds = options.minutes * 60
            told = caught(fault, folder, tests, seconds, options.workers)
            missed += told in ("", "time")
            spent = time.monotonic() - began
            print(f"{number:>3} {told or 'MISSED'} ({spent:.0f} s)", flush=True)
            if told in ("", "time"):
                print(f"    {fault}", flush=True)
    print(f"{options.count - missed} of {options.count} faults were caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
