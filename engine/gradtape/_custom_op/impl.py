"""The registry of such ops, which programs clear; see :mod:`gradtape.library`."""

from __future__ import annotations

from typing import Any

from .._common.refusals import refused_names
from .._library.utils import lookup_op

globals().update(refused_names("_custom_op.impl"))

global_registry: dict[str, Any] = {}


def get_op(qualname: str) -> Any:
    """Return an op by its name, of any kind; ValueError where there is none."""
    try:
        return lookup_op(qualname)
    except AttributeError:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have "
            "already registered the operator and (if registered from C++) loaded it "
            "via torch.ops.load_library."
        ) from None
