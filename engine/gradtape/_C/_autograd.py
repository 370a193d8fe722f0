"""The names of ``torch._C._autograd`` that programs use."""

from __future__ import annotations

from .._graph_task import keeps_graph
from .._inference import unsafe_set_version_counter
from .._saved import SavedTensor as SavedTensor
from ._profiler import profiler_type

_get_current_graph_task_keep_graph = keeps_graph
_unsafe_set_version_counter = unsafe_set_version_counter
_profiler_type = profiler_type
