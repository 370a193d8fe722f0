"""What libraries tell PyTorch's older exporter at import: nothing reads it here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Say how TorchScript's exporter writes an op: no export of ours asks."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Take that back: nothing happens."""
