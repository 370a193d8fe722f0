"""Calls of the arithmetic ops."""

from __future__ import annotations

from ._record import NUMBERS, OpSample
from ._shapes import binary, unary

OPS = (
    OpSample("mul", binary(), NUMBERS),
    OpSample("exp", unary(), NUMBERS),
)
