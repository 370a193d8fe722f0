"""gradtape.distributed.checkpoint.hf_storage: see docs/out-of-reach.md."""

from __future__ import annotations

from ..._common.refusals import refused

HuggingFaceStorageReader = refused("distributed.checkpoint.HuggingFaceStorageReader")
HuggingFaceStorageWriter = refused("distributed.checkpoint.HuggingFaceStorageWriter")
