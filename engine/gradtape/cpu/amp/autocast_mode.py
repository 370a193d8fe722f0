"""``cpu.amp.autocast``, deprecated as in PyTorch."""

from ...amp._deprecated import older_autocast as _older_autocast

__all__ = ["autocast"]

autocast = _older_autocast("cpu")
