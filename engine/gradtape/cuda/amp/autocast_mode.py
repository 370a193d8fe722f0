"""``cuda.amp.autocast`` and its decorators, deprecated as in PyTorch."""

from __future__ import annotations

from typing import Any

from ..._dtypes import dtype as DType
from ...amp import autocast_mode as amp
from ...amp._deprecated import older_autocast, warn_deprecated

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


autocast = older_autocast("cuda")


def custom_fwd(fwd: Any = None, *, cast_inputs: DType | None = None) -> Any:
    """Deprecated, as in PyTorch: use ``gradtape.amp.custom_fwd``."""
    new = "amp.custom_fwd(args..., device_type='cuda')"
    warn_deprecated("cuda.amp.custom_fwd(args...)", new)
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated, as in PyTorch: use ``gradtape.amp.custom_bwd``."""
    new = "amp.custom_bwd(args..., device_type='cuda')"
    warn_deprecated("cuda.amp.custom_bwd(args...)", new)
    return amp.custom_bwd(bwd, device_type="cuda")
