"""A layer that interleaves groups of channels."""

from __future__ import annotations

from ._function_layer import UnaryLayer

__all__ = ["ChannelShuffle"]


class ChannelShuffle(UnaryLayer):
    """Take channels from each group in turn."""

    _function = "channel_shuffle"
    _options = ("groups",)
    _shown = _options

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups
