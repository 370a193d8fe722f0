"""gradtape.distributed._composable.fsdp: out of reach, see docs/out-of-reach.md."""

from __future__ import annotations

from ..._common.refusals import refused

FSDPModule = refused("distributed.fsdp.FSDPModule")
fully_shard = refused("distributed.fsdp.fully_shard")
