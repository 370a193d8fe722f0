"""Look into a file for what ``weights_only=True`` would refuse."""

from __future__ import annotations

import os
from typing import Any

from ..utils.serialization import config
from ._allowed import allowed_globals
from ._safe_globals import users_globals
from ._safe_unpickler import globals_named
from ._zip_reader import ZipReader, is_zip


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the full names in a file that are not on the list of the allowed.

    Nothing in the file is called. Raises ValueError for what ``save`` did not write.

    >>> import fractions, gradtape as torch
    >>> torch.save(fractions.Fraction(1, 3), "third.pt")
    >>> torch.serialization.get_unsafe_globals_in_checkpoint("third.pt")
    ['fractions.Fraction']
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    if not is_zip(f):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    archive = ZipReader(f, config.save.compute_crc32)
    if "constants.pkl" in archive:
        raise ValueError(
            "Expected input to be a checkpoint returned by torch.save but got a "
            "torchscript checkpoint"
        )
    named = globals_named(archive.read("data.pkl"))
    return list(named - allowed_globals().keys() - users_globals().keys())
