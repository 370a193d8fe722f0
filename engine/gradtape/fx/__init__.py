"""gradtape.fx: out of reach, see docs/out-of-reach.md; marks on code are kept."""

from __future__ import annotations

from typing import Any

from .._common.refusals import refused_names
from . import experimental as experimental
from . import graph_module as graph_module
from . import node as node
from . import proxy as proxy

globals().update(refused_names("fx"))


def wrap(fn_or_name: Any) -> Any:
    """Mark a function as one that tracing does not enter: nothing happens."""
    return fn_or_name
