"""Long training under observation: see :func:`watch`."""

from __future__ import annotations

from gradviz.watching.handle import Watch as Watch
from gradviz.watching.handle import watch as watch
