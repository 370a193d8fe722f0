"""gradtape.hub: where PyTorch keeps its downloads; nothing is downloaded here."""

from __future__ import annotations

import os
from typing import Any

from ._refusals import refused_names

globals().update(refused_names("hub"))


class _Folder:
    """The folder that set_dir() chose."""

    chosen: str | None = None


def get_dir() -> str:
    """Return the folder of PyTorch's downloads, by its environment variables."""
    if _Folder.chosen is not None:
        return _Folder.chosen
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[Any]) -> None:
    """Choose the folder that :func:`get_dir` returns."""
    _Folder.chosen = os.path.expanduser(d)
