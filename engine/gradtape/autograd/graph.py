"""``autograd.graph``: what is in the graph, where gradients go, what nodes keep."""

from ._graph_edges import GradientEdge as GradientEdge
from ._graph_edges import Node as Node
from ._graph_edges import get_gradient_edge as get_gradient_edge
from ._graph_edges import increment_version as increment_version
from ._graph_options import (
    region_activation_memory_budget as region_activation_memory_budget,
)
from ._graph_options import (
    set_override_stale_capture_stream as set_override_stale_capture_stream,
)
from ._graph_options import (
    set_warn_on_accumulate_grad_stream_mismatch as _set_warn_on_stream_mismatch,
)
from ._multi_grad import register_multi_grad_hook as register_multi_grad_hook
from ._mutation import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
)
from ._saved_hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
from ._saved_hooks import save_on_cpu as save_on_cpu
from ._saved_hooks import saved_tensors_hooks as saved_tensors_hooks

set_warn_on_accumulate_grad_stream_mismatch = _set_warn_on_stream_mismatch
