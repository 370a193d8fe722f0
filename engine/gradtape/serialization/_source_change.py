"""Warn that a class of modules is not what it was when it was saved.

Files in the format before PyTorch 1.6 keep the source of every class beside its name.
"""

from __future__ import annotations

import difflib
import inspect
import warnings
from pathlib import Path
from typing import Any

from .._common.site import user_stacklevel
from ..ops.tensor.queries import typename


class SourceChangeWarning(Warning):
    """The source of a class differs from that of the class that was saved."""


_NO_SOURCE = (
    "Couldn't retrieve source code for container of type {name}. It won't be checked "
    "for correctness upon loading."
)
_CHANGED = "source code of class '{name}' has changed. {advice}"
_COMPARE = (
    "you can retrieve the original source code by accessing the object's source "
    "attribute or set `torch.nn.Module.dump_patches = True` and use the patch tool to "
    "revert the changes."
)
_PATCHED = (
    "Saved a reverse patch to {file}. Run `patch -p0 < {file}` to revert your changes."
)
_NO_PATCH = (
    "Tried to save a patch, but couldn't create a writable file {file}. Make sure it "
    "doesn't exist and your working directory is writable."
)


def source_of(kind: Any) -> tuple[str | None, str | None]:
    """Return the file and the text of a class; warn and return None without them."""
    try:
        return inspect.getsourcefile(kind), "".join(inspect.getsourcelines(kind)[0])
    except (OSError, TypeError):
        _warn(_NO_SOURCE.format(name=kind.__name__), UserWarning)
        return None, None


def check_source(kind: Any, path: str, saved: str) -> None:
    """Compare the source of a class with the one in a file; warn where it changed."""
    _, current = source_of(kind)
    if current is not None and saved != current:
        advice = _patch(kind, path, current, saved) if kind.dump_patches else _COMPARE
        text = _CHANGED.format(name=typename(kind), advice=advice)
        _warn(text, SourceChangeWarning)


def _warn(text: str, category: type[Warning]) -> None:
    warnings.warn(text, category, stacklevel=user_stacklevel())


def _patch(kind: Any, path: str, current: str, saved: str) -> str:
    """Write the way back to the saved source into a file; say how to use it."""
    file = Path(f"{kind.__name__}.patch")
    old, new = (text.split("\n") for text in (current, saved))
    lines = "\n".join(difflib.unified_diff(old, new, path, path, lineterm=""))
    try:
        if (file.read_text() if file.exists() else "") not in ("", lines):
            return _NO_PATCH.format(file=file)
        file.write_text(lines)
    except OSError:
        return _NO_PATCH.format(file=file)
    return _PATCHED.format(file=file)
