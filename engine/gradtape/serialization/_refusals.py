"""Why a file is refused: the errors, and PyTorch's advice around them."""

from __future__ import annotations

import pickle
import re
from typing import NoReturn

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
