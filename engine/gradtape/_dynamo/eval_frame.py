"""gradtape._dynamo.eval_frame: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from .._common.refusals import refused

OptimizedModule = refused("_dynamo.OptimizedModule")
