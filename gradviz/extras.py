"""Which optional packages are installed, and what to install where one is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

_PACKAGES = {
    "demo": ("gradtape", "tqdm"),
    "gradtape": ("gradtape",),
    "mcp": ("mcp",),
}
"""The extras of the distribution that a sentence here may name, and their packages."""


def is_installed(package: str) -> bool:
    """Return whether a package can be imported, without importing it.

    >>> is_installed("numpy"), is_installed("no_such_package")
    (True, False)
    """
    if package in sys.modules:
        return sys.modules.get(package) is not None
    return find_spec(package) is not None


def missing(extra: str) -> str | None:
    """Return which packages of an extra are missing and how to get them, as a sentence.

    None where all are there. Raises KeyError for an extra that this module does not
    know.

    >>> from unittest.mock import patch
    >>> with patch.dict("sys.modules", gradtape=None):  # as if it were not installed
    ...     print(missing("gradtape"))
    gradtape is not installed here; `pip install 'autogradviz[gradtape]'` brings it.
    """
    absent = [name for name in _PACKAGES[extra] if not is_installed(name)]
    if not absent:
        return None
    are, them = ("is", "it") if len(absent) == 1 else ("are", "them")
    return (
        f"{' and '.join(absent)} {are} not installed here; "
        f"`pip install 'autogradviz[{extra}]'` brings {them}."
    )
