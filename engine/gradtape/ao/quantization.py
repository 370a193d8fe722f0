"""gradtape.ao.quantization: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from .._common.refusals import refused_names

globals().update(refused_names("quantization"))
