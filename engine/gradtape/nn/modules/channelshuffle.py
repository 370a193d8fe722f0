"""Shuffled channels, under the name of PyTorch's file."""

from __future__ import annotations

from ._distance import ChannelShuffle as ChannelShuffle
