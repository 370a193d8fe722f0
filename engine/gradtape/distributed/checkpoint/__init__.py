"""gradtape.distributed.checkpoint: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from ..._common.refusals import refused_names
from . import hf_storage as hf_storage

globals().update(refused_names("distributed.checkpoint"))
