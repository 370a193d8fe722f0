"""gradtape.distributed._tensor: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from .._common.refusals import refused

DTensor = refused("distributed.tensor.DTensor")
