"""Versions of PyTorch that do not show enough of themselves."""

from __future__ import annotations

from typing import Any

from gradviz.errors import CaptureError

OLDEST = "2.10"
"""From this version on, a saved tensor can be looked at without running its hooks."""


def refuse_older(torch: Any) -> None:
    """Raise CaptureError for a version whose saved tensors cannot be looked at.

    To unpack one is no way out: checkpoints let each of theirs be unpacked once.
    """
    if torch.__version__ < OLDEST:  # PyTorch compares versions, not text
        raise CaptureError(
            f"gradviz needs PyTorch {OLDEST} or newer, and this is "
            f"{torch.__version__}. Upgrade it, or run the program on gradtape: "
            "`gradviz run --engine gradtape`."
        )
