"""Plant faults in both packages, one at a time, and see whether the tests catch them.

    python -m tests.faults [--seed N] [--count N] [--minutes M] [--suite COMMIT]

Each fault changes one operator, constant, condition or returned value in a copy of the
working tree; then the tests nearest to that module run there until one fails. With
``--suite`` they are those of another commit, for the same faults. What survives is
printed with its line: a test to write, or a change that makes no difference.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.mutate import Fault, plant
from tools import check
from tools.changed import Graph, nearest
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


def caught(fault: Fault, folder: Path, tests: list[Path], seconds: float) -> str:
    """Return the test that fails; "" if none does, "time" where they take too long."""
    there = [str(test) for test in tests if (folder / test).exists()]
    paths = os.pathsep.join((str(folder / "engine"), str(folder)))
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-m", "not browser"]
    workers = ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadgroup"]
    with fault.planted(folder):
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *workers, *there],
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


def main() -> int:
    """Plant faults and print what becomes of each; return 1 if no test noticed one."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument(
        "--minutes", type=float, default=3.0, help="the most for one fault (3)"
    )
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
            workers = min(os.cpu_count() or 1, 4)
            budget = options.minutes * 30 * workers
            tests = nearest(reached, [fault.file], known, budget).chosen
            told = caught(fault, folder, tests, options.minutes * 60)
            missed += told in ("", "time")
            spent = time.monotonic() - began
            print(f"{number:>3} {told or 'MISSED'} ({spent:.0f} s)", flush=True)
            if told in ("", "time"):
                print(f"    {fault}", flush=True)
    print(f"{options.count - missed} of {options.count} faults were caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
