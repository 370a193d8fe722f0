"""Imports packages of other projects late, with one sentence where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from gradviz.errors import GradvizError


def needed(module: str, package: str, *, by: str) -> Any:
    """Return a module; raise GradvizError, with one sentence, if there is none.

    >>> needed("json", "json", by="a sink").dumps(1)
    '1'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # it is there, and lacks something itself
        raise GradvizError(
            f"{by} needs {package}, which is not installed: `pip install {package}`."
        ) from None
