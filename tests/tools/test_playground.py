"""What the playground's page is told, and where its parts come from."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tools import in_browser, playground
from tools.playground import Pyodide

KNOWN = {
    "numpy": {"depends": [], "file_name": "numpy.whl"},
    "scipy": {"depends": ["numpy", "openblas"], "file_name": "scipy.whl"},
    "openblas": {"depends": [], "file_name": "openblas.zip"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as npm's package is: an interpreter, and no packages."""
    lock = {"info": {"python": "3.14.2"}, "packages": KNOWN}
    (tmp_path / "pyodide-lock.json").write_text(json.dumps(lock))
    (tmp_path / "package.json").write_text('{"version": "314.0.7"}')
    for name in ("pyodide.mjs", "pyodide.asm.wasm", "pyodide.d.ts", "console.html"):
        (tmp_path / name).write_bytes(b"x" * 2_000_000)
    return tmp_path


def test_packages_that_are_not_there_come_from_elsewhere(folder: Path):
    told = playground.context(Pyodide(folder))["setup"]
    assert told["wheels"] == "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
    assert told["pyodide"] == "_static/playground/pyodide/"
    assert told["servers"] == "this site and cdn.jsdelivr.net"
    assert told["packages"] == ("numpy", "scipy")


def test_a_whole_distribution_asks_no_other_server(folder: Path):
    for each in KNOWN.values():
        (folder / str(each["file_name"])).touch()
    found = Pyodide(folder)
    told = playground.context(found)["setup"]
    assert told["wheels"] == told["pyodide"]
    assert told["servers"] == "this site"
    assert {file.name for file in found.files} == {
        *("pyodide.mjs", "pyodide.asm.wasm", "pyodide-lock.json"),
        *("numpy.whl", "scipy.whl", "openblas.zip"),
    }


def test_the_page_says_how_much_it_fetches(folder: Path):
    assert 20 < playground.context(Pyodide(folder))["setup"]["megabytes"] < 40


def test_our_packages_are_packed_as_they_are_imported(tmp_path: Path, root: Path):
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as file:
        playground.pack(file, root / "gradviz", skip=("labextension",))
    names = file.namelist()
    assert "gradviz/__init__.py" in names
    assert not [each for each in names if "labext" in each or "__pycache__" in each]


def test_a_program_comes_to_its_page_and_findings(capfd: pytest.CaptureFixture[str]):
    came = json.loads(in_browser.run(playground.PROGRAM))
    assert [each["code"] for each in came["found"]["findings"]] == ["GV306"]
    assert came["page"].startswith("<!DOCTYPE html>")
    said = capfd.readouterr()
    assert "loss " in said.out
    assert "gradviz: found 1 cause in 3 backward passes" in said.err


def test_what_loads_before_the_first_run_says_nothing(
    capfd: pytest.CaptureFixture[str],
):
    in_browser.warm_up()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("program", "status"), [("1 +", 1), ("raise SystemExit(7)", 7), ("1 / 0", 1)]
)
def test_a_program_that_ends_otherwise_keeps_its_status(program: str, status: int):
    came = json.loads(in_browser.run(program))
    assert (came["status"], came["page"]) == (status, None)
