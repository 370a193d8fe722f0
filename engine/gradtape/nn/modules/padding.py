"""Padding, under the name of PyTorch's file."""

from __future__ import annotations

from ._pad import CircularPad1d as CircularPad1d
from ._pad import CircularPad2d as CircularPad2d
from ._pad import CircularPad3d as CircularPad3d
from ._pad import ConstantPad1d as ConstantPad1d
from ._pad import ConstantPad2d as ConstantPad2d
from ._pad import ConstantPad3d as ConstantPad3d
from ._pad import ReflectionPad1d as ReflectionPad1d
from ._pad import ReflectionPad2d as ReflectionPad2d
from ._pad import ReflectionPad3d as ReflectionPad3d
from ._pad import ReplicationPad1d as ReplicationPad1d
from ._pad import ReplicationPad2d as ReplicationPad2d
from ._pad import ReplicationPad3d as ReplicationPad3d
from ._pad import ZeroPad1d as ZeroPad1d
from ._pad import ZeroPad2d as ZeroPad2d
from ._pad import ZeroPad3d as ZeroPad3d
