"""Meta's devices, of which there are none: gradtape.mtia mirrors torch.mtia."""

from __future__ import annotations

from ._common.absent import no, nothing, refusing, zero

is_available = no
is_initialized = no
device_count = zero
memory_allocated = zero
manual_seed = nothing
manual_seed_all = nothing
synchronize = refusing(
    RuntimeError, "Cannot execute getCurrentDevice() without MTIA backend."
)
current_device = synchronize
empty_cache = refusing(
    RuntimeError, "Cannot execute emptyCache() without MTIA backend."
)
