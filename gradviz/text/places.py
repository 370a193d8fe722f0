"""Whose file a line is in: the user's own, or that of an installed package."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath

_INSTALLED = ("site-packages", "dist-packages")


@lru_cache(maxsize=4096)
def package_of(file: str) -> str:
    """Return the installed package that a file belongs to; "" for the user's own.

    >>> package_of("/env/lib/python3.12/site-packages/torchmetrics/metric.py")
    'torchmetrics'
    >>> package_of("/home/me/train.py")
    ''
    """
    inside = path_in_package(file)
    return inside.partition("/")[0].removesuffix(".py")


@lru_cache(maxsize=4096)
def path_in_package(file: str) -> str:
    """Return the path from the package on: ``"torchmetrics/metric.py"``; else ""."""
    parts = PurePath(file.replace("\\", "/")).parts
    for place in range(len(parts) - 2, -1, -1):
        if parts[place] in _INSTALLED:
            return "/".join(parts[place + 1 :])
    return ""
