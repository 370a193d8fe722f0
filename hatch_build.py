"""Hatch build hook: put the JavaScript bundle into wheels, sdists and editables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tools import frontend


class FrontendBuildHook(BuildHookInterface[Any]):
    """Builds what is missing; a built sdist needs no Node any more."""

    def dependencies(self) -> list[str]:
        """Ask for Node from PyPI where it is needed and the machine has none."""
        root = Path(self.root)
        if frontend.is_fresh(root) or frontend.find_node():
            return []
        return [frontend.NODE_REQUIREMENT]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before any file is collected."""
        if frontend.build(Path(self.root)):
            self.app.display_info("gradviz: front end built")
