"""Why a file is refused: the errors, and PyTorch's advice around them."""

from __future__ import annotations

import difflib
import inspect
import pickle
import re
import warnings
from pathlib import Path
from typing import Any, NoReturn

from .._common.site import user_stacklevel
from ..ops.tensor.queries import typename

UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in "
    "`torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` "
    "set to `False` will likely succeed, but it can result in arbitrary code "
    "execution. Do it only if you got the file from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by "
    "default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
_TWO_OPTIONS = (
    "Weights only load failed. This file can still be loaded, to do so you have two "
    "options, \033[1mdo those steps only if you trust the source of the checkpoint"
    f"\033[0m. \n\t(1) {UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` "
    "please check the recommended steps in the following error message.\n\t"
    "WeightsUnpickler error: "
)
_REPORT = (
    "Please file an issue with the following so that we can make `weights_only=True` "
    "compatible with your use case: WeightsUnpickler error: "
)


class BrokenPickleError(pickle.UnpicklingError):
    """A pickle that no pickler writes: loading it another way would not help."""


class TruncatedPickleError(BrokenPickleError, EOFError):
    """A pickle that ends in the middle."""


def broken(what: str) -> NoReturn:
    """Refuse a pickle that contradicts itself."""
    raise BrokenPickleError(f"The file's pickle is broken: {what}.")


def advised(message: str) -> str:
    """Return a refusal of the safe unpickler with PyTorch's advice around it."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return _TWO_OPTIONS + message + _DOCS
    blocked = re.search(r"whose module (\S+) is blocked", message)
    advice = "" if blocked else _REPORT
    return f"Weights only load failed. {UNSAFE}\n{advice}\n\n{message}{_DOCS}"


# ---- warn that a class of modules is not what it was when it was saved -------


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
