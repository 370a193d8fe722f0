"""Options of ``autograd.graph`` about streams and compilers: they change nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

_BUDGET: Final = "torch.autograd.graph.region_activation_memory_budget"


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accept PyTorch's switch: one stream is used, so nothing can mismatch."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accept PyTorch's switch: no stream is captured here."""


def region_activation_memory_budget(budget: float) -> AbstractContextManager[None]:
    """Refuse: a budget is for compiled code, and nothing is compiled.

    Raises TypeError or ValueError for a budget that is none, else RuntimeError.
    """
    if isinstance(budget, bool) or not isinstance(budget, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{_BUDGET}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{_BUDGET}: must be in [0, 1], got {budget}")
    raise RuntimeError(
        f"{_BUDGET} can only be used inside a torch.compile region; it has no effect "
        "in eager mode."
    )
