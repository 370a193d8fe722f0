"""Finds the tables of programs: a file for each rule, and files of correct ones."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.rules.harness import Case

_PROGRAMS = Path(__file__).parent / "programs"

FAMILIES = sorted(folder.name for folder in _PROGRAMS.iterdir() if folder.is_dir())
FILES = sorted(f"{file.parent.name}.{file.stem}" for file in _PROGRAMS.glob("*/*.py"))
"""Every file by family and name: "lifetime.gv203", "lifetime.fine_loops"."""


def cases_in(file: str, *tables: str) -> list[Case]:
    """Return the programs of a file, of all its tables unless some are named."""
    found = vars(importlib.import_module(f"tests.rules.programs.{file}"))
    names = tables or ("PROGRAMS", "TWO_PLACES")
    return [each for name in names for each in found.get(name, ())]


def cases_of(family: str, table: str = "PROGRAMS") -> list[Case]:
    """Return the programs of a family, wrong ones and correct ones."""
    files = [file for file in FILES if file.startswith(f"{family}.")]
    return [each for file in files for each in cases_in(file, table)]


def named(part: str) -> Case:
    """Return the one program whose name has this part."""
    (found,) = [each for file in FILES for each in cases_in(file) if part in each.name]
    return found
