"""Preparing `.venv`: only when needed, and with a clear sentence when it cannot."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import urllib.error
from pathlib import Path

import pytest

from tools import bootstrap, frontend


def make(*arguments: str, root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_make_alone_lists_every_target(root: Path):
    text = (root / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    listed = [line.split()[1] for line in make(root=root).stdout.splitlines()]
    assert sorted(listed) == sorted(phony.split())


def test_make_without_a_new_enough_python_says_so(root: Path):
    done = make("PYTHON=", "setup", root=root)
    assert done.returncode != 0
    assert "gradviz needs Python 3.11 or newer" in done.stderr


@pytest.mark.parametrize("profile", ["demo", "test"])
def test_what_is_ready_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str
):
    commands: list[object] = []
    monkeypatch.setattr(bootstrap, "VENV", tmp_path)
    monkeypatch.setattr(bootstrap, "_make_venv", lambda: None)
    monkeypatch.setattr(bootstrap, "_torch_index", list)
    monkeypatch.setattr(bootstrap, "_run", lambda command, _: commands.append(command))
    monkeypatch.setattr(bootstrap, "_look_for_chromium", lambda: None)
    monkeypatch.setattr(frontend, "is_fresh", lambda: True)
    monkeypatch.setattr(frontend, "modules_match", lambda: True)
    bootstrap.prepare(profile)
    assert len(commands) == 3  # build tools, front end, gradviz itself
    bootstrap.prepare(profile)
    assert len(commands) == 3
    monkeypatch.setattr(bootstrap, "_digest", lambda: "pyproject.toml has changed")
    bootstrap.prepare(profile)
    assert len(commands) == 6


def test_a_step_that_fails_stops_and_leaves_no_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(_command: object, what: str) -> None:
        raise bootstrap.BootstrapError(what)

    monkeypatch.setattr(bootstrap, "VENV", tmp_path)
    monkeypatch.setattr(bootstrap, "_make_venv", lambda: None)
    monkeypatch.setattr(bootstrap, "_run", fail)
    with pytest.raises(bootstrap.BootstrapError, match="build tools"):
        bootstrap.prepare("demo")
    assert list(tmp_path.iterdir()) == []


def test_torch_comes_from_pypi_when_the_cpu_index_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
):
    def refuse(*_: object, **__: object) -> None:
        raise urllib.error.URLError("no route")

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(bootstrap.urllib.request, "urlopen", refuse)
    assert bootstrap._torch_index() == []


@pytest.mark.parametrize("project", [".", "engine"])
def test_what_builds_a_distribution_is_installed_first(project: str, root: Path):
    text = (root / project / "pyproject.toml").read_text(encoding="utf-8")
    needed = tomllib.loads(text)["build-system"]["requires"]
    assert set(needed) <= set(bootstrap._BUILD_TOOLS)


def test_the_scripts_that_run_first_need_the_standard_library_only():
    for module in (bootstrap, frontend):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        names = {
            alias.name if isinstance(node, ast.Import) else node.module or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        tops = {name.split(".")[0] for name in names}
        assert tops - sys.stdlib_module_names <= {"tools"}
