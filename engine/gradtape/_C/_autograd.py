"""The names of ``torch._C._autograd`` that programs use."""

from __future__ import annotations

from .._graph_task import keeps_graph
from .._saved import SavedTensor as SavedTensor

_get_current_graph_task_keep_graph = keeps_graph
