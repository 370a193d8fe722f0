"""Where the page of a watch goes that a trainer's callback opened."""

from __future__ import annotations

import os
from pathlib import Path

from gradviz.watching.ending import AUTO


def page_in(
    folder: str | os.PathLike[str], page: str | os.PathLike[str] | None
) -> str | os.PathLike[str] | None:
    """Return the page that was asked for; if nobody said, one in a trainer's folder."""
    if page != AUTO:
        return page
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / "gradviz-watch.html"
