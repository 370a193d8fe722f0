"""Hatch build hook: compile part of the engine, where there is a compiler."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compiling.build import REQUIREMENTS, build, is_wanted


class CompilingBuildHook(BuildHookInterface[Any]):
    """Makes a wheel for this machine, or without a word the one that runs anywhere."""

    def dependencies(self) -> list[str]:
        """Ask for Cython where a compiler waits for what it writes."""
        return REQUIREMENTS if is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before any file is collected. Editable installs stay plain Python."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        made = build(Path(self._folder.name))
        if made is not None:
            build_data["force_include"][str(made)] = f"gradtape/{made.name}"
            build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], path: str) -> None:
        """Run when the wheel is written."""
        if version != "editable":
            self._folder.cleanup()
