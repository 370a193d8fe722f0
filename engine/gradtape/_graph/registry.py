"""Every declared op, and every function that the package offers, by name.

The ops fill it; it lies on the ground because rooms below them ask what a name means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .op import Op

OPS: dict[str, Op] = {}
"""Every declared op by name."""

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""What ``gradtape.<name>`` offers: ops, and functions composed of them."""

MODULES: dict[str, Any] = {}
"""The public modules by their path below the package: "" and ".nn.functional".

The package fills it when all are imported, for who lists the functions in them.
"""
