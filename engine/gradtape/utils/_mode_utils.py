"""Small questions about modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._modes.disable_dispatch import DisableTorchDispatch

no_dispatch = DisableTorchDispatch


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Tell whether all of them are the same one.

    >>> from gradtape.utils._mode_utils import all_same_mode
    >>> all_same_mode([1, 1]), all_same_mode([1, 2])
    (True, False)
    """
    return all(each == modes[0] for each in modes)
