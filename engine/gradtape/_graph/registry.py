"""The registries of declared ops, filled by ``_dispatch/declare.py`` and the ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .op import Op

OPS: dict[str, Op] = {}
"""Every declared op by name."""

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""What ``gradtape.<name>`` offers: ops, and functions composed of them."""
