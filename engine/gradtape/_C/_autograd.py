"""The names of ``torch._C._autograd`` that programs use."""

from __future__ import annotations

from .._engine.graph_task import keeps_graph
from .._engine.saved_attributes import SavedTensor as SavedTensor
from .._engine.saved_attributes import make_saved_tensor
from ..autograd import _saved_hooks
from ..ops.tensor.inference import unsafe_set_version_counter
from ._profiler import profiler_type

_get_current_graph_task_keep_graph = keeps_graph
_unsafe_set_version_counter = unsafe_set_version_counter
_profiler_type = profiler_type
_make_saved_tensor = make_saved_tensor
_push_saved_tensors_default_hooks = _saved_hooks.push_hooks
_pop_saved_tensors_default_hooks = _saved_hooks.pop_hooks
_saved_tensors_hooks_disable = _saved_hooks.forbid_hooks
_saved_tensors_hooks_enable = _saved_hooks.allow_hooks
_saved_tensors_hooks_get_disabled_error_message = _saved_hooks.disabled_message
_saved_tensors_hooks_is_enabled = _saved_hooks.hooks_allowed
