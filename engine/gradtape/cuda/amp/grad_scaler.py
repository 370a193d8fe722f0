"""``cuda.amp.GradScaler``, deprecated as in PyTorch."""

from __future__ import annotations

from ...amp import grad_scaler as amp
from ...amp._deprecated import warn_deprecated
from ...amp.grad_scaler import OptState as OptState

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """Deprecated, as in PyTorch: use ``gradtape.amp.GradScaler("cuda")``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        new = "amp.GradScaler('cuda', args...)"
        warn_deprecated("cuda.amp.GradScaler(args...)", new)
        super().__init__(
            "cuda",
            init_scale,
            growth_factor,
            backoff_factor,
            growth_interval,
            enabled,
        )
