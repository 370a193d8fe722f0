"""Apple's devices, of which there are none: gradtape.mps mirrors torch.mps."""

from __future__ import annotations

from typing import Any

from ._common.absent import no, nothing, refusing, zero

_SENTENCE = "Cannot execute {name}() without MPS backend."


def _without(name: str) -> Any:
    return refusing(RuntimeError, _SENTENCE.format(name=name))


is_available = no
device_count = zero
manual_seed = nothing
synchronize = _without("deviceSynchronize")
empty_cache = _without("emptyCache")
current_allocated_memory = _without("getCurrentAllocatedMemory")
driver_allocated_memory = _without("getDriverAllocatedMemory")
recommended_max_memory = _without("getRecommendedMaxMemory")
set_per_process_memory_fraction = _without("setMemoryFraction")
seed = _without("getDefaultGenerator")
get_rng_state = _without("getDefaultGenerator")
set_rng_state = _without("getDefaultGenerator")
