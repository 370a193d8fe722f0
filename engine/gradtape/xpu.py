"""Intel's devices, of which there are none: gradtape.xpu mirrors torch.xpu."""

from __future__ import annotations

from ._common.absent import no, nothing, refusing, zero

_refused = refusing(AssertionError, "Torch not compiled with XPU enabled")

is_available = no
is_initialized = no
is_bf16_supported = no
device_count = zero
memory_allocated = zero
memory_reserved = zero
max_memory_allocated = zero
max_memory_reserved = zero
manual_seed = nothing
manual_seed_all = nothing
seed = nothing
seed_all = nothing
empty_cache = nothing
init = _refused
current_device = _refused
current_stream = _refused
get_device_capability = _refused
get_device_name = _refused
get_device_properties = _refused
get_rng_state = _refused
initial_seed = _refused
synchronize = _refused
