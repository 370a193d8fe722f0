"""What PyTorch's nodes keep: the attributes that give it, and if it still holds."""

from __future__ import annotations

from functools import cache
from typing import Any

NO_SEQUENCE = 2**64 - 1
"""What PyTorch gives for the sequence number of an AccumulateGrad."""

_CUSTOM = (("saved_tensors", "_raw_saved_tensors"),)


def saved_slots(cls: type) -> tuple[tuple[str, str], ...]:
    """Return the attributes of a node class that give its saved tensors, with the raw.

    Other ``_saved_`` attributes are numbers, shapes and flags.
    """
    # A user's class is no key: the cache would keep it alive.
    return _CUSTOM if hasattr(cls, "_forward_cls") else _slots(cls)


@cache
def _slots(cls: type) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name.removeprefix("_raw"), name)
        for name in sorted(dir(cls))
        if name.startswith("_raw_saved_")
    )


def is_hooked(raw: Any) -> bool:
    """Whether a saved-tensors hook of the user holds on to the value."""
    if isinstance(raw, tuple | list):
        return any(each.unpack_hook is not None for each in raw)
    return raw.unpack_hook is not None


def hook_name(raw: Any) -> str:
    """Return the name of the hook that unpacks a saved tensor, short enough to read."""
    hook = raw.unpack_hook
    name = str(getattr(hook, "__qualname__", type(hook).__name__))
    return name.replace(".__init__", "").replace(".<locals>", "")


def unpacks(raw: Any, now: int) -> bool:
    """Whether a saved tensor can still be had; one that is at version ``now`` cannot.

    Before PyTorch 2.13, which could be asked, the first at that version is the one.
    """
    if not hasattr(raw, "unpack"):
        return bool(raw.data._version != now)
    try:
        raw.unpack()
    except RuntimeError:
        return False
    return True
