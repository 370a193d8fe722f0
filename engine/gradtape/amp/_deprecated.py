"""The warning that the older names of mixed precision give."""

from __future__ import annotations

import warnings

from .._common.site import user_stacklevel


def warn_deprecated(old: str, new: str) -> None:
    """Warn that ``torch.old`` has become ``torch.new``."""
    warnings.warn(
        f"`torch.{old}` is deprecated. Please use `torch.{new}` instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
