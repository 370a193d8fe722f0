"""gradtape.fx.node: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .._common.refusals import refused

Node = refused("fx.Node")
map_arg = refused("fx.map_arg")
Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any
