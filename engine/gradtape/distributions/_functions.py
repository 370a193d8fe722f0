"""`F`: the functions of tensors that distributions are written in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from .. import special as special  # declares some of them, as `ops` does
from .._dispatch.declare import FUNCTIONS
from ..nn import functional

F: Final[Any] = SimpleNamespace(
    **{
        **FUNCTIONS,
        "binary_cross_entropy_with_logits": functional.binary_cross_entropy_with_logits,
        "logsigmoid": functional.logsigmoid,
        "one_hot": functional.one_hot,
        "pad": functional.pad,
        "softmax": functional.softmax,
        "softplus": functional.softplus,
    }
)
