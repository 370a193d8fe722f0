"""What PyTorch cannot do on some processors: there is nothing to compare with then."""

from __future__ import annotations

from functools import cache

import pytest


@cache
def _has_low_lstm() -> bool:
    torch = pytest.importorskip("torch")
    try:
        with torch.autocast("cpu"):
            torch.nn.LSTM(3, 4)(torch.ones(1, 1, 3))
    except RuntimeError as error:
        return "primitive descriptor" not in str(error)
    return True


def skip_without_low_lstm() -> None:
    """Skip a test of LSTM in bfloat16 where oneDNN has none: it wants AVX-512."""
    if not _has_low_lstm():
        pytest.skip("PyTorch has no bfloat16 LSTM on this processor")
