"""The house: one order of rooms, no circles, one door, and a note beside each door."""

from __future__ import annotations

import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.rooms import (
    ORDER,
    ROOT_FILES,
    WIDE,
    WIDEST,
    WITHOUT_README,
    room_of,
)
from tools import imports
from tools.imports import ROOT, Import, all_imports

MODULES = imports.modules()
PACKAGES = sorted(imports.PACKAGES)

UPWARDS = (
    "{found}: the room {lower} lies below {upper}. Move what is asked for to the "
    "ground, say what is needed of it in a Protocol, or let the upper room install it "
    "on the lower one, as ops install their methods on Tensor. Late imports and those "
    "under TYPE_CHECKING count; tests/architecture/rooms.py has the order."
)
IN_A_CIRCLE = (
    "imports run in a circle, late ones and those under TYPE_CHECKING counted: {way}. "
    "One of them has to go: `_graph/protocols.py` shows how records speak of tensors."
)
PRIVATE = (
    "{found}, which is private. What a debugger may use of the engine is in "
    "gradtape._debug: use it, or add the name there and say what it is for."
)


def module_behind(found: Import) -> str | None:
    """Return the module of ours that an import reaches, be it named or a name in it."""
    target = found.target
    while target and target not in MODULES:
        target = target.rpartition(".")[0]
    return target or None


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_lies_in_a_room_of_the_list(package: str):
    own = [name for name in MODULES if name.partition(".")[0] == package]
    homeless = [name for name in own if room_of(name) is None]
    assert homeless == [], "give them a row in tests/architecture/rooms.py"
    empty = set(ORDER[package]) - {room_of(name) for name in own}
    assert empty == set(), "rows of tests/architecture/rooms.py without a module"


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_import_only_rooms_above_them_in_the_list(package: str):
    rank = ORDER[package]
    upwards: list[str] = []
    for found in all_imports():
        target = module_behind(found)
        if target is None or {found.module.split(".")[0], target.split(".")[0]} != {
            package
        }:
            continue
        lower, upper = room_of(found.module), room_of(target)
        if lower is not None and upper is not None and rank[upper] > rank[lower]:
            upwards.append(UPWARDS.format(found=found, lower=lower, upper=upper))
    assert not upwards, "\n".join(upwards)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other_in_a_circle(package: str):
    graph: dict[str, set[str]] = {}
    for found in all_imports():
        target = module_behind(found)
        if found.module.split(".")[0] == package and target != found.module and target:
            graph.setdefault(found.module, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(IN_A_CIRCLE.format(way=" <- ".join(error.args[1])))


def test_the_debugger_comes_in_by_one_door():
    private = re.compile(r"gradtape\.(ops\b|(.*\.)?_(?!_))")
    inside = [
        PRIVATE.format(found=found)
        for found in all_imports()
        if found.module.split(".")[0] == "gradviz"
        and private.match(found.target)
        and not found.reaches("gradtape._debug")
    ]
    assert not inside, "\n".join(inside)


def test_nothing_in_the_engine_goes_through_the_debuggers_door():
    own = [found for found in all_imports() if found.module.startswith("gradtape")]
    assert [str(found) for found in own if found.reaches("gradtape._debug")] == []


def test_folders_are_narrow_enough_to_list():
    files = Counter(
        file.parent.relative_to(ROOT).as_posix() for file in MODULES.values()
    )
    wide = {folder for folder, count in files.items() if count > WIDEST}
    assert wide == set(WIDE), f"more than {WIDEST} modules of their own: make sub-rooms"


def test_the_engines_root_holds_what_pytorch_has_there():
    files = list(imports.PACKAGES["gradtape"].glob("*.py"))
    assert len(files) <= ROOT_FILES, "the engine's parts lie in rooms, not in the root"


def folders_of_rooms() -> list[Path]:
    return [
        folder
        for package in imports.PACKAGES.values()
        for folder in sorted(init.parent for init in package.glob("*/__init__.py"))
    ]


@pytest.mark.parametrize(
    "folder", folders_of_rooms(), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_every_room_says_what_it_is_for(folder: Path):
    """What it is for, what must stay true, who may come in: ten to thirty lines."""
    readme = folder / "README.md"
    if folder.relative_to(ROOT).as_posix() in WITHOUT_README:
        assert not readme.exists(), "it has one: strike it from WITHOUT_README"
        return
    assert readme.exists()
    assert 10 <= len(readme.read_text(encoding="utf-8").splitlines()) <= 30
