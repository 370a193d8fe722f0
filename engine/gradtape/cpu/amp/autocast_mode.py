"""``cpu.amp.autocast``, deprecated as in PyTorch."""

from __future__ import annotations

from ..._dtypes import bfloat16
from ..._dtypes import dtype as DType
from ...amp import autocast_mode as amp
from ...amp._deprecated import warn_deprecated

__all__ = ["autocast"]


class autocast(amp.autocast):
    """Deprecated, as in PyTorch: use ``gradtape.amp.autocast("cpu")``."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: DType = bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        warn_deprecated("cpu.amp.autocast(args...)", "amp.autocast('cpu', args...)")
        super().__init__("cpu", dtype, enabled, cache_enabled)
