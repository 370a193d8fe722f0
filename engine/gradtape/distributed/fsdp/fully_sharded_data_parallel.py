"""gradtape.distributed.fsdp.fully_sharded_data_parallel: see docs/out-of-reach.md."""

from __future__ import annotations

from ..._common.refusals import refused

BackwardPrefetch = refused("distributed.fsdp.BackwardPrefetch")
CPUOffload = refused("distributed.fsdp.CPUOffload")
FullyShardedDataParallel = refused("distributed.fsdp.FullyShardedDataParallel")
MixedPrecision = refused("distributed.fsdp.MixedPrecision")
ShardingStrategy = refused("distributed.fsdp.ShardingStrategy")
StateDictType = refused("distributed.fsdp.StateDictType")
